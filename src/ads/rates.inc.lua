-- Rates: how often a view becomes a click or an action, and the eCPMs and bounds that follow.
-- include: exploring

local rates = {}

local EVENT = {cpc = 'clicks', cpa = 'actions'} -- the event that an ad of this type is paid for
local MILLIONTHS = 1000000                      -- unit of prices
local ECPM_VIEWS = 1000                         -- an eCPM is for this many views

-- The rate of an ad or a word, from 0 to 1. Counts with more events than views were not written by
-- tackle.
function rates.of_ad(views, events, expected, smoothing)
  if views == 0 then
    return expected
  end
  events = math.min(events, views)
  if smoothing == 0 then
    return events / views
  end
  return (events + expected * smoothing) / (views + smoothing)
end

-- The average rate of a type.
function rates.average(views, events, smoothing)
  if smoothing > 0 then
    return (events + TKL__ADS_FIRST_EVENTS) / (views + TKL__ADS_FIRST_VIEWS)
  end
  if views > 0 and events > 0 then
    return events / views
  end
  return TKL__ADS_FIRST_EVENTS / TKL__ADS_FIRST_VIEWS
end

-- Returns the average events per view of a type; the smoothing (how many views at the expected rate
-- are added, 0: none); and the inputs of bounds (nil: nothing is explored).
function rates.read_average(kind)
  local meta = redis.call('HMGET', META, 'smoothing', 'explore', kind .. ' views',
    kind .. ' ' .. EVENT[kind], 'cpm views', 'cpc views', 'cpa views')
  local smoothing, explore = records.counted(meta[1]), exploring.read(meta[2])
  local views = records.counted(meta[3])
  local events = math.min(views, records.counted(meta[4]))
  local outlook
  if explore > 0 then
    local all_views = records.counted(meta[5]) + records.counted(meta[6]) + records.counted(meta[7])
    outlook = exploring.outlook(views, events, all_views, redis.call('HLEN', ADS), explore)
  end
  return rates.average(views, events, smoothing), smoothing, outlook
end

-- The eCPM for a price per event.
function rates.ecpm_of(price, rate)
  return price * rate / (MILLIONTHS / ECPM_VIEWS)
end

-- The views and the events of each word of an ad.
function rates.counts_of_words(ad, words, event)
  local fields = {}
  for _, word in ipairs(words) do
    fields[#fields + 1] = records.of_word('views', word, ad)
    fields[#fields + 1] = records.of_word(event, word, ad)
  end
  return redis.call('HMGET', WORDS, unpack(fields))
end

-- The eCPM for the bound of a rate.
function rates.bound_ecpm(price, rate)
  return tonumber(string.format(DIGITS, rates.ecpm_of(math.max(price, LEAST_PRICE), rate)))
end

-- The eCPMs and bounds of an ad that is paid by event, and of its words.
function rates.compute_by_event(ad, terms, values, event)
  local average, smoothing, outlook = rates.read_average(terms.type)
  local counts = redis.call('HMGET', COUNTS, 'views:' .. ad, event .. ':' .. ad)
  local views_of_ad, events_of_ad = records.counted(counts[1]), records.counted(counts[2])
  local rate = rates.of_ad(views_of_ad, events_of_ad, average, smoothing)
  values.base = rates.ecpm_of(terms.price, rate)
  values.bound = values.base
  local most
  if outlook then
    local expected = exploring.expected_of_ad(views_of_ad, outlook.expected)
    most = exploring.bound(views_of_ad, events_of_ad, expected, AD_WEIGHT, outlook.margin)
    values.bound = rates.bound_ecpm(terms.price, most)
  end
  if #values.words == 0 then
    return
  end
  local of_words = rates.counts_of_words(ad, values.words, event)
  for i, word in ipairs(values.words) do
    local views, events = records.counted(of_words[2 * i - 1]), records.counted(of_words[2 * i])
    values.ecpm[word] = rates.ecpm_of(terms.price, rates.of_ad(views, events, rate, smoothing))
    values.bounds[word] = values.ecpm[word]
    if outlook then
      local margin =
          exploring.margin_of_word(views, views_of_ad, WORD_WEIGHT / most, outlook.margin)
      values.bounds[word] = rates.bound_ecpm(terms.price,
        exploring.bound(views, events, most, WORD_WEIGHT, margin))
    end
  end
end

-- Computes the bounds of an ad that is paid by view. Its eCPM is known, but each view lowers the
-- bound a little, so that equal ads take turns.
function rates.compute_by_view(terms, values)
  local meta = redis.call('HMGET', META, 'explore', terms.type .. ' views')
  values.base = terms.price / MILLIONTHS
  values.bound = values.base
  if exploring.read(meta[1]) > 0 then
    values.bound = math.max(terms.price, LEAST_PRICE) / MILLIONTHS
      * math.max(0.5, 1 - SHARE * records.counted(meta[2]))
  end
  for _, word in ipairs(values.words) do
    values.ecpm[word] = values.base
    values.bounds[word] = values.bound
  end
end

-- Computes the eCPMs and bounds of an ad and its words from their counts, into `values`.
function rates.compute(ad, terms, values)
  local event = EVENT[terms.type]
  if event then
    rates.compute_by_event(ad, terms, values, event)
  else
    rates.compute_by_view(terms, values)
  end
end
