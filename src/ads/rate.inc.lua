-- Rates, averages and eCPMs.
-- include: record

local EVENT = {cpc = 'clicks', cpa = 'actions'} -- what such an ad is paid for
local FIRST_VIEWS, FIRST_EVENTS = 1000, 1       -- what the average of a type starts from

-- How many views the smoothed rate adds at the expected rate; 0: the plain rate.
local function read_smoothing()
  return tonumber(redis.call('HGET', META, 'smoothing') or 0) or 0
end

local function rate_of(views, events, expected, smoothing)
  if views == 0 then
    return expected
  end
  if smoothing == 0 then
    return events / views
  end
  return (events + expected * smoothing) / (views + smoothing)
end

-- Events of a type's ads per view.
local function average_of(kind, smoothing)
  local totals = redis.call('HMGET', META, kind .. ' views', kind .. ' ' .. EVENT[kind])
  local views, events = tonumber(totals[1] or 0) or 0, tonumber(totals[2] or 0) or 0
  if smoothing > 0 then
    return (events + FIRST_EVENTS) / (views + FIRST_VIEWS)
  end
  if views > 0 and events > 0 then
    return events / views
  end
  return FIRST_EVENTS / FIRST_VIEWS
end

-- Prices are in millionths, an eCPM is for 1000 views.
local function ecpm_of(price, rate)
  return price * rate / 1000
end

local function counts_of_words(ad, words, event)
  local fields = {}
  for _, word in ipairs(words) do
    fields[#fields + 1] = of_word('views', word, ad)
    fields[#fields + 1] = of_word(event, word, ad)
  end
  return redis.call('HMGET', WORDS, unpack(fields))
end

-- The eCPMs of an ad that is paid by event, and of its words.
local function compute_by_event(ad, terms, values, event)
  local smoothing = read_smoothing()
  local counts = redis.call('HMGET', COUNTS, 'views:' .. ad, event .. ':' .. ad)
  local rate = rate_of(tonumber(counts[1] or 0), tonumber(counts[2] or 0),
    average_of(terms.type, smoothing), smoothing)
  values.base = ecpm_of(terms.price, rate)
  if #values.words == 0 then
    return
  end
  local of_words = counts_of_words(ad, values.words, event)
  for i, word in ipairs(values.words) do
    local views, events = tonumber(of_words[2 * i - 1] or 0), tonumber(of_words[2 * i] or 0)
    values.ecpm[word] = ecpm_of(terms.price, rate_of(views, events, rate, smoothing))
  end
end

-- The eCPMs of an ad and its words, from what was counted; into `values`.
local function compute(ad, terms, values)
  local event = EVENT[terms.type]
  if event then
    return compute_by_event(ad, terms, values, event)
  end
  values.base = terms.price / 1000000
  for _, word in ipairs(values.words) do
    values.ecpm[word] = values.base
  end
end
