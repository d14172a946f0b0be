-- search/range: the bitmap of the documents whose value is in a range, a step of it.
-- KEYS[1...] shard  see keys.inc.lua; then the sorted set of the field, the bitmap while it is
--   made, and when it is made
-- ARGV[1] token  of the index
-- ARGV[2] low    bound as ZRANGE BYSCORE takes it
-- ARGV[3] high   ditto
-- ARGV[4] from   numbers that are there already
-- ARGV[5] most   numbers of this step
-- ARGV[6] ttl    milliseconds that the bitmap is kept
-- flags: allow-oom
-- returns 'stale', or {version, numbers to go on with or -1}
-- include: keys
-- include: making
-- include: indexes
-- include: sets

local FIELD, BITS, MADE = unpack(KEYS, SHARD_KEYS + 1)
local token, low, high, from, most, ttl = unpack(ARGV)
from, most = tonumber(from), tonumber(most)

local index = indexes.read()
if index.token ~= token then
  return 'stale'
elseif making.is_made(BITS, MADE, from, ttl) then
  return {index.version, -1}
end
-- The rank at which the range begins: by ranks a step is read at once, by LIMIT the server would
-- walk over all that came before.
local open_low = string.match(low, '^%((.*)')
local before = open_low or '(' .. low
local first = redis.call('ZCOUNT', FIELD, '-inf', before) + from
local last = math.min(first + most, first - from + redis.call('ZCOUNT', FIELD, low, high)) - 1
local numbers = first <= last and redis.call('ZRANGE', FIELD, first, last) or {}
sets.set_numbers(BITS, numbers, '1', index.next)
if #numbers < most then
  making.finish(BITS, MADE, ttl)
  return {index.version, -1}
end
redis.call('PEXPIRE', BITS, ttl)
return {index.version, from + #numbers}
