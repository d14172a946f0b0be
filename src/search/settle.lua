-- search/settle: end a check: set the totals, and note the time.
-- KEYS[1...] shard  see keys.inc.lua
-- ARGV[1] token  of the index
-- ARGV[2] check  the check that ends
-- returns 'stale', 'other' when another check has begun, or totals that were wrong
-- include: keys
-- include: bitmaps
-- include: shared/clock
-- include: shared/decimal
-- include: indexes

local token, check = unpack(ARGV)

local stored, current, docs, words, counted, next_number =
  unpack(redis.call('HMGET', META, 'token', 'check', 'docs', 'words', 'counted_words', 'next'))
if stored ~= token then
  return 'stale'
elseif current ~= check or not counted then
  return 'other'
elseif redis.call('STRLEN', LIVE) > bitmaps.byte_of(tonumber(next_number or 0)) + 1 then
  error({err = 'DAMAGED the bitmap of the documents was not written by tackle'})
end
local live = decimal.whole(redis.call('BITCOUNT', LIVE))
local wrong = ((docs or '0') ~= live and 1 or 0) + ((words or '0') ~= counted and 1 or 0)
redis.call('HSET', META, 'docs', live, 'words', counted, 'clean_at', decimal.whole(clock.ms()))
redis.call('HDEL', META, 'check', 'counted', 'counted_words')
if wrong > 0 then
  indexes.change()
end
return wrong
