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
-- include: operands
local token, low, high, ttl = ARGV[1], ARGV[2], ARGV[3], ARGV[6]
local from, most = tonumber(ARGV[4]), tonumber(ARGV[5])

local head = redis.call('HMGET', META, 'token', 'version', 'next')
if head[1] ~= token then
  return 'stale'
end
if from == 0 and redis.call('EXISTS', MADE) == 1 then
  redis.call('PEXPIRE', MADE, ttl)
  return {head[2] or '0', -1}
elseif from == 0 then
  redis.call('DEL', BITS)
end
redis.call('PEXPIRE', BITS, ttl) -- a first write that is allowed when the server is out of memory
-- Where the range begins in the order: by places a step is read at once, by LIMIT the server would
-- walk over all that came before.
local before = string.sub(low, 1, 1) == '(' and string.sub(low, 2) or '(' .. low
local first = redis.call('ZCOUNT', FIELD, '-inf', before) + from
local last = math.min(first + most, first - from + redis.call('ZCOUNT', FIELD, low, high)) - 1
local numbers = first <= last and redis.call('ZRANGE', FIELD, first, last) or {}
set_numbers(BITS, numbers, '1', tonumber(head[3] or 0))
if #numbers < most then
  redis.call('BITOP', 'AND', MADE, BITS, LIVE)
  redis.call('DEL', BITS)
  redis.call('PEXPIRE', MADE, ttl)
  return {head[2] or '0', -1}
end
redis.call('PEXPIRE', BITS, ttl)
return {head[2] or '0', from + #numbers}
