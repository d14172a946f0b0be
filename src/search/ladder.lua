-- search/ladder: make a step of a ladder, a part of it.
-- KEYS[1...] shard  see keys.inc.lua; then the sorted set of the field, and the bits of the step
-- ARGV[1] token   of the index
-- ARGV[2] name    of the field in names of steps
-- ARGV[3] side    'top' or 'low'
-- ARGV[4] step    from 1, the widest
-- ARGV[5] place   of the part before in the field; '' at first
-- ARGV[6] most    documents of this part
-- ARGV[7] is_text  1: the field is a text
-- flags: allow-oom
-- returns 'stale', or {the place to go on from, '' when it is ready or cannot be made}
-- include: keys
-- include: ladders
-- include: places

local FIELD, BITS = unpack(KEYS, SHARD_KEYS + 1)
local token, field, side, step, place, most, is_text = unpack(ARGV)
step, most = tonumber(step), tonumber(most)

if redis.call('HGET', META, 'token') ~= token then
  return 'stale'
end
local name = ladders.step_name(field, side, step)

-- Starts the step. Its threshold is the score of the last document that the step should contain.
local function begin()
  local present = redis.call('ZCARD', FIELD) - redis.call('ZCOUNT', FIELD, 'inf', 'inf')
  local at = ladders.step_place(step, side, present)
  if not at then
    return nil
  end
  local member = redis.call('ZRANGE', FIELD, at, at, 'WITHSCORES')
  redis.call('DEL', BITS)
  redis.call('HDEL', LADDER, name .. 'ready')
  redis.call('HSET', LADDER, name, member[2])
  return member[2]
end

local threshold = place == '' and begin() or redis.call('HGET', LADDER, name)
if not threshold then
  return {''}
end
local low, high = ladders.step_bounds(threshold, side)
local has = redis.call('ZCOUNT', FIELD, low, high)
local first = side == 'top' and redis.call('ZCOUNT', FIELD, '-inf', '(' .. threshold) or 0
local behind = first + has
if place ~= '' then
  local _, up_to = places.ranks(FIELD, place)
  first = up_to
end
local last = math.min(first + most, behind) - 1
local members = first <= last and redis.call('ZRANGE', FIELD, first, last) or {}
for _, member in ipairs(members) do
  local number = is_text == '1' and string.match(member, '%z(%d+)$') or member
  redis.call('SETBIT', BITS, number, '1')
end
if #members == most then
  return {places.of(FIELD, members[#members])}
end
-- Another writer may have begun it again meanwhile: it is ready only if no document is missing.
if redis.call('BITCOUNT', BITS) == has then
  redis.call('HSET', LADDER, name .. 'ready', '1')
end
return {''}
