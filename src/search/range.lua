-- search/range: the bitmap of the documents whose value is in a range, a step of it.
-- KEYS[1...] shard  see keys.inc.lua; then the sorted set of the field, the bitmap while it is
--   made, and when it is made
-- ARGV[1] token  of the index
-- ARGV[2] low    bound as ZRANGE BYSCORE takes it
-- ARGV[3] high   ditto
-- ARGV[4] place  of the last step in the field; '' at first
-- ARGV[5] most   numbers of this step
-- ARGV[6] ttl    milliseconds that the bitmap is kept
-- flags: allow-oom
-- returns 'stale', or {version, place to go on from, '' when it is made}
-- include: keys
-- include: making
-- include: places
-- include: indexes
-- include: sets

local FIELD, BITS, MADE = unpack(KEYS, SHARD_KEYS + 1)
local token, low, high, place, most, ttl = unpack(ARGV)
most = tonumber(most)

local index = indexes.read()
if index.token ~= token then
  return 'stale'
elseif making.is_made(BITS, MADE, place == '', ttl) then
  return {index.version, ''}
end
-- By ranks a step is read at once; by LIMIT the server would walk over all that came before.
local open_low = string.match(low, '^%((.*)')
local first = redis.call('ZCOUNT', FIELD, '-inf', open_low or '(' .. low)
local behind = first + redis.call('ZCOUNT', FIELD, low, high)
if place ~= '' then
  local _, up_to = places.ranks(FIELD, place)
  first = up_to
end
local last = math.min(first + most, behind) - 1
local numbers = first <= last and redis.call('ZRANGE', FIELD, first, last) or {}
sets.set_numbers(BITS, numbers, '1', index.next)
if #numbers < most then
  making.finish(BITS, MADE, ttl)
  return {index.version, ''}
end
redis.call('PEXPIRE', BITS, ttl)
return {index.version, places.of(FIELD, numbers[#numbers])}
