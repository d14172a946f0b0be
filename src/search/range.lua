-- search/range: the bitmap of the documents whose value is in a range, a step of it.
-- KEYS[1] meta   hash: token, version, next
-- KEYS[2] field  sorted set: number, value
-- KEYS[3] bits   the bitmap while it is made
-- KEYS[4] made   the bitmap when it is made
-- KEYS[5] live   bitmap of the numbers that can be found
-- ARGV[1] token  of the index
-- ARGV[2] low    bound as ZRANGE BYSCORE takes it
-- ARGV[3] high   ditto
-- ARGV[4] from   numbers that are there already
-- ARGV[5] most   numbers of this step
-- ARGV[6] ttl    milliseconds that the bitmap is kept
-- returns 'stale', or {version, numbers to go on with or -1}

local META, FIELD, BITS, MADE, LIVE = unpack(KEYS)
-- include: made
-- include: operands
local token, low, high, ttl = ARGV[1], ARGV[2], ARGV[3], ARGV[6]
local from, most = tonumber(ARGV[4]), tonumber(ARGV[5])

local stored, version, next_number = unpack(redis.call('HMGET', META, 'token', 'version', 'next'))
if stored ~= token then
  return 'stale'
end
version, next_number = version or '0', tonumber(next_number or 0)
if is_made(from, ttl) then
  return {version, -1}
end
-- Where the range begins in the order: by places a step is read at once, by LIMIT the server would
-- walk over all that came before.
local open_low = string.match(low, '^%((.*)')
local before = open_low or '(' .. low
local first = redis.call('ZCOUNT', FIELD, '-inf', before) + from
local last = math.min(first + most, first - from + redis.call('ZCOUNT', FIELD, low, high)) - 1
local numbers = first <= last and redis.call('ZRANGE', FIELD, first, last) or {}
set_numbers(BITS, numbers, '1', next_number)
if #numbers < most then
  finish(ttl)
  return {version, -1}
end
redis.call('PEXPIRE', BITS, ttl)
return {version, from + #numbers}
