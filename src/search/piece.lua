-- search/piece: store a piece of the text of a large document, or of its terms.
-- KEYS[1...] shard  see keys.inc.lua
-- ARGV[1] token   of the index
-- ARGV[2] number  of the document
-- ARGV[3] stamp   with which it began
-- ARGV[4] hash    'texts' or 'forward'
-- ARGV[5] piece   its index, from 1
-- ARGV[6] bytes
-- returns 'stale', 'gone' when another writer has taken the number away, or 1
-- include: keys
-- include: pieces
-- include: shared/decimal

local token, number, stamp, hash, piece, bytes = unpack(ARGV)
local key = hash == 'texts' and TEXTS or FORWARD
piece = tonumber(piece)

if redis.call('HGET', META, 'token') ~= token then
  return 'stale'
end
local began = redis.call('ZSCORE', DEAD, number)
if not began or decimal.whole(began) ~= stamp then
  return 'gone'
elseif piece > 1 and redis.call('HEXISTS', key, pieces.field(number, piece - 1)) == 0 then
  return 'gone' -- there must be no gap: pieces are removed up to the first that is missing
end
redis.call('HSET', key, pieces.field(number, piece), bytes)
return 1
