-- ads/show: an ad with all that was counted.
-- KEYS[1...] set      see keys.inc.lua
-- ARGV[1] ad
-- returns nil, or {{type, price, budget, views, clicks, actions, spent, today, until, eCPM},
-- {location ...}, {{kind, value ...} ...}, {word, eCPM, views, clicks, actions, spent, ...}}

-- include: keys
-- include: money

local ad = ARGV[1]

local function words_of(values)
  local list = {}
  for _, word in ipairs(values.words) do
    local counts = redis.call('HMGET', WORDS, of_word('views', word, ad),
      of_word('clicks', word, ad), of_word('actions', word, ad), of_word('spent', word, ad))
    list[#list + 1] = word
    list[#list + 1] = exact(values.ecpm[word])
    for _, number in ipairs(counts) do
      list[#list + 1] = number or '0'
    end
  end
  return list
end

local terms = read_terms(ad)
if not terms then
  return false
end
local values = read_values(ad)
local clock = read_clock()
local views, clicks, actions, spent_ever = unpack(redis.call('HMGET', COUNTS, 'views:' .. ad,
  'clicks:' .. ad, 'actions:' .. ad, 'spent:' .. ad))
local spent = spent_today(ad, clock)
local back = terms.budget > 0 and redis.call('ZSCORE', DUE, ad)
local closed = back and tonumber(back) > clock.ms and closed_until(terms, spent, clock)
local numbers = {terms.type, string.format('%.0f', terms.price), string.format('%.0f', terms.budget),
  views or '0', clicks or '0', actions or '0', spent_ever or '0',
  string.format('%.0f', spent), closed and string.format('%.0f', closed) or '0',
  exact(values.base)}
return {numbers, terms.locations, values.needs, words_of(values)}
