-- ads/show: an ad with its counts.
-- KEYS[1...] set      see keys.inc.lua
-- ARGV[1] ad
-- flags: no-writes
-- returns nil, or {{type, price, budget, views, clicks, actions, spent, today, until, eCPM,
--   bound}, {location ...}, {{kind, value ...} ...}, {word, eCPM, bound, views, clicks, actions,
--   spent, ...}}
-- include: keys
-- include: money

local ad = ARGV[1]

-- Each word of the ad with its eCPM, its bound and its counts.
local function words_of(values)
  local list = {}
  for _, word in ipairs(values.words) do
    local counts = redis.call('HMGET', WORDS, unpack(records.fields_of_word(word, ad)))
    list[#list + 1] = word
    list[#list + 1] = decimal.exact(values.ecpm[word])
    list[#list + 1] = decimal.exact(values.bounds[word])
    for _, number in ipairs(counts) do
      list[#list + 1] = number or '0'
    end
  end
  return list
end

local terms = records.read_terms(ad)
if not terms then
  return false
end
local values = records.read_values(ad)
local calendar = money.read_calendar()
local views, clicks, actions, spent_ever = unpack(records.read_counts(ad))
local spent = money.spent_today(ad, calendar)
local back = terms.budget > 0 and redis.call('ZSCORE', DUE, ad)
local closed = back and tonumber(back) > calendar.ms and money.closed_until(terms, spent, calendar)
local numbers = {
  terms.type, decimal.whole(terms.price), decimal.whole(terms.budget), views or '0', clicks or '0',
  actions or '0', spent_ever or '0', string.format('%.0f', spent),
  closed and decimal.whole(closed) or '0', decimal.exact(values.base), decimal.exact(values.bound),
}
return {numbers, terms.locations, values.needs, words_of(values)}
