-- ads/click: count a click or an action, once for each target.
-- KEYS[1...] set      see keys.inc.lua; the last is the target
-- ARGV[1] smoothing   that the set must have; '': any
-- ARGV[2] event       clicks or actions
-- ARGV[3] token       of this request; a repetition has the same
-- ARGV[4] keep        milliseconds during which an action may follow a click
-- ARGV[5] ttl         milliseconds, or 0
-- returns {'counted'}, {'before'} when it was counted before, {'unknown'} for a target that is
--   unknown or has expired, {'removed'} when its ad is gone, or {'smoothing', number} when the set
--   has another smoothing
-- include: keys
-- include: counting

local smoothing, event, token, keep, ttl = unpack(ARGV)

-- The matching words that the ad still has.
local function words_left(matched, values)
  local has, words = {}, {}
  for _, word in ipairs(values.words) do
    has[word] = true
  end
  for word in string.gmatch(matched, '([^%z]+)%z') do
    if has[word] then
      words[#words + 1] = word
    end
  end
  return words
end

-- The words with more views than events. A word that the ad has lost since the view has no views
-- any more.
local function words_viewed(ad, words)
  local counts = #words > 0 and rates.counts_of_words(ad, words, event)
  local viewed = {}
  for i, word in ipairs(words) do
    if records.counted(counts[2 * i - 1]) > records.counted(counts[2 * i]) then
      viewed[#viewed + 1] = word
    end
  end
  return viewed
end

local stored = redis.call('HGET', META, 'smoothing')
if stored and smoothing ~= '' and smoothing ~= stored then
  return {'smoothing', stored}
end
local view = redis.call('HMGET', TARGET, 'ad', 'serial', 'type', 'price', 'words', event)
local ad, serial, paid_as, price, matched, counted_by = unpack(view)
if not ad then
  return {'unknown'}
end
if counted_by == token then
  return {'counted'}
end
local terms = records.read_terms(ad)
if not terms or tonumber(serial or '') ~= terms.serial then
  return {'removed'}
end
if counted_by then
  return {'before'}
end
types.check_hashes(COUNTS, WORDS, HEADS)
types.check_zsets(INDEX, DUE)
local cost = EVENT[paid_as] == event and tonumber(price or '')
local values = records.read_values(ad)
local words = words_left(matched or '', values)
counting.check_counts(event, paid_as or terms.type, ad, words)
words = words_viewed(ad, words)
redis.call('HSET', TARGET, event, token)
redis.call('PEXPIRE', TARGET, keep, 'GT')
counting.count(event, ad, words)
local spent
local calendar = money.read_calendar()
if cost then
  records.increase(META, paid_as .. ' ' .. event, 1)
  spent = counting.pay(ad, terms, words, cost, calendar)
end
counting.settle(ad, terms, values, true, spent, calendar)
records.expire_in(ttl)
return {'counted'}
