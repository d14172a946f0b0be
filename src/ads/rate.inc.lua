-- Rates, averages and eCPMs.
-- include: record

local EVENT = {cpc = 'clicks', cpa = 'actions'} -- what such an ad is paid for
local MILLIONTHS = 1000000                      -- in which prices are
local ECPM_VIEWS = 1000                         -- for which an eCPM is
local FIRST_VIEWS, FIRST_EVENTS = 1000, 1       -- what the average of a type starts from

-- From 0 to 1: more events than views were not counted by us.
local function rate_of(views, events, expected, smoothing)
  if views == 0 then
    return expected
  end
  events = math.min(events, views)
  if smoothing == 0 then
    return events / views
  end
  return (events + expected * smoothing) / (views + smoothing)
end

-- The events of a type's ads per view, and the smoothing: how many views the smoothed rate adds at
-- the expected rate; 0: the plain rate.
local function read_average(kind)
  local meta = redis.call('HMGET', META, 'smoothing', kind .. ' views', kind .. ' ' .. EVENT[kind])
  local smoothing = counted(meta[1])
  local views = counted(meta[2])
  local events = math.min(views, counted(meta[3]))
  if smoothing > 0 then
    return (events + FIRST_EVENTS) / (views + FIRST_VIEWS), smoothing
  end
  if views > 0 and events > 0 then
    return events / views, smoothing
  end
  return FIRST_EVENTS / FIRST_VIEWS, smoothing
end

local function ecpm_of(price, rate)
  return price * rate / (MILLIONTHS / ECPM_VIEWS)
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
  local average, smoothing = read_average(terms.type)
  local counts = redis.call('HMGET', COUNTS, 'views:' .. ad, event .. ':' .. ad)
  local rate = rate_of(counted(counts[1]), counted(counts[2]), average,
    smoothing)
  values.base = ecpm_of(terms.price, rate)
  if #values.words == 0 then
    return
  end
  local of_words = counts_of_words(ad, values.words, event)
  for i, word in ipairs(values.words) do
    local views, events = counted(of_words[2 * i - 1]), counted(of_words[2 * i])
    values.ecpm[word] = ecpm_of(terms.price, rate_of(views, events, rate, smoothing))
  end
end

-- The eCPMs of an ad and its words, from what was counted; into `values`.
local function compute(ad, terms, values)
  local event = EVENT[terms.type]
  if event then
    return compute_by_event(ad, terms, values, event)
  end
  values.base = terms.price / MILLIONTHS
  for _, word in ipairs(values.words) do
    values.ecpm[word] = values.base
  end
end
