-- search/piece: a piece of the text of a large document, or of its terms.
-- KEYS[1...] shard  see keys.inc.lua
-- ARGV[1] token   of the index
-- ARGV[2] number  of the document
-- ARGV[3] stamp   with which it began
-- ARGV[4] hash    'texts' or 'forward'
-- ARGV[5] place   of the piece, from 1
-- ARGV[6] bytes
-- returns 'stale', 'gone' when the number was taken away, or 1
-- include: keys
-- include: pieces
-- include: shared/decimal

local token, number, stamp, hash, place, bytes = unpack(ARGV)
local key = hash == 'texts' and TEXTS or FORWARD
place = tonumber(place)

if redis.call('HGET', META, 'token') ~= token then
  return 'stale'
end
local began = redis.call('ZSCORE', DEAD, number)
if not began or decimal.whole(began) ~= stamp then
  return 'gone'
elseif place > 1 and redis.call('HEXISTS', key, pieces.field(number, place - 1)) == 0 then
  return 'gone' -- pieces are without a gap: they are removed up to the first that is missing
end
redis.call('HSET', key, pieces.field(number, place), bytes)
return 1
