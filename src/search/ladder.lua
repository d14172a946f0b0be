-- search/ladder: make a step of a ladder, a part of it.
-- KEYS[1] meta    hash: token
-- KEYS[2] ladder  hash: step, threshold
-- KEYS[3] field   sorted set
-- KEYS[4] bits    of the step
-- ARGV[1] token   of the index
-- ARGV[2] name    of the field in names of steps
-- ARGV[3] side    'top' or 'low'
-- ARGV[4] step    from 1, the widest
-- ARGV[5] from    documents that were seen; 0 at first
-- ARGV[6] most    documents of this part
-- ARGV[7] is_text  1: the field is a text
-- returns 'stale', or the documents seen, -1 when it is ready or cannot be made

local META, LADDER, FIELD, BITS = unpack(KEYS)
-- include: ladder
local token, field, side, step = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local from, most, is_text = tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7] == '1'
if redis.call('HGET', META, 'token') ~= token then
  return 'stale'
end
local name = step_name(field, side, step)

-- The score of the document that is as far from the end as the step is wide.
local function begin()
  local present = redis.call('ZCARD', FIELD) - redis.call('ZCOUNT', FIELD, 'inf', 'inf')
  local at = step_place(step, side, present)
  if not at then
    return nil
  end
  local member = redis.call('ZRANGE', FIELD, at, at, 'WITHSCORES')
  redis.call('DEL', BITS)
  redis.call('HDEL', LADDER, name .. 'ready')
  redis.call('HSET', LADDER, name, member[2])
  return member[2]
end

local threshold = from == 0 and begin() or redis.call('HGET', LADDER, name)
if not threshold then
  return -1
end
local low, high = step_bounds(threshold, side)
local members = redis.call('ZRANGE', FIELD, low, high, 'BYSCORE', 'LIMIT', from, most)
for _, member in ipairs(members) do
  local number = is_text and string.match(member, '%z(%d+)$') or member
  redis.call('SETBIT', BITS, number, '1')
end
if #members == most then
  return from + #members
end
-- While parts were made, others wrote: only if nothing is missing, the step can be used.
if redis.call('BITCOUNT', BITS) == redis.call('ZCOUNT', FIELD, low, high) then
  redis.call('HSET', LADDER, name .. 'ready', '1')
end
return -1
