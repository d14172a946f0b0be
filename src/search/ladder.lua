-- search/ladder: make one part of a step or of a rung of a ladder.
-- KEYS[1...] shard  see keys.inc.lua; then the sorted set of the field, the bits of the step, and
--   those of all rungs of the field
-- ARGV[1] token   of the index
-- ARGV[2] name    of the field in names of steps
-- ARGV[3] side    'top', 'low' or 'rung'
-- ARGV[4] step    from 1, the widest; of a rung its number
-- ARGV[5] threshold  of a rung
-- ARGV[6] place   where the last part ended in the field; '' at first
-- ARGV[7] high    the bound that the first part returned; '' at first
-- ARGV[8] most    documents of this part
-- ARGV[9] is_text  1: the field is a text
-- flags: allow-oom
-- returns 'stale', or {the place to go on from, '' when the step is ready or cannot be made; the
--   bound at which a rung ends, since a higher rung has the documents behind it}
-- include: keys
-- include: ladders
-- include: places
-- include: shared/clock

local FIELD, BITS = unpack(KEYS, SHARD_KEYS + 1)
local FIRST_RUNG = SHARD_KEYS + 3
local token, field, side, step, wanted, place, high, most, is_text = unpack(ARGV)
step, most = tonumber(step), tonumber(most)

if redis.call('HGET', META, 'token') ~= token then
  return 'stale'
end
local name = ladders.step_name(field, side, step)

-- The threshold of a step: the score of the last document that it should contain; nil: it would be
-- empty.
local function threshold_of_step()
  local present = redis.call('ZCARD', FIELD) - redis.call('ZCOUNT', FIELD, 'inf', 'inf')
  local at = ladders.step_rank(step, side, present)
  return at and redis.call('ZRANGE', FIELD, at, at, 'WITHSCORES')[2]
end

-- Starts a rung with the documents of the next higher rung. Returns the bound below that rung.
local function begin_rung(threshold)
  for _, rung in ipairs(ladders.rungs_of(ladders.read_all(), field)) do
    if rung.ready and rung.value > tonumber(threshold) then
      redis.call('BITOP', 'OR', BITS, KEYS[FIRST_RUNG + rung.step - 1])
      return '(' .. rung.threshold
    end
  end
  return '(inf'
end

-- Starts the step. Returns its threshold, nil if it cannot be made, and the bound of a rung.
local function begin()
  local has = redis.call('HGET', LADDER, name)
  local threshold = side == 'rung' and wanted or threshold_of_step()
  if not threshold or side == 'rung' and has and has ~= threshold then
    return nil -- another writer has put a rung here
  end
  redis.call('DEL', BITS)
  redis.call('HDEL', LADDER, name .. 'ready')
  local bound = side == 'rung' and begin_rung(threshold) or ''
  redis.call('HSET', LADDER, name, threshold, name .. 'begun', string.format('%d', clock.us()))
  return threshold, bound
end

local threshold
if place == '' then
  threshold, high = begin()
else
  threshold = redis.call('HGET', LADDER, name)
end
if not threshold then
  return {'', ''}
end
local low, last_bound = ladders.step_bounds(threshold, side)
local has = redis.call('ZCOUNT', FIELD, low, last_bound)
local first = side ~= 'low' and redis.call('ZCOUNT', FIELD, '-inf', '(' .. threshold) or 0
local behind = first + (side == 'rung' and redis.call('ZCOUNT', FIELD, low, high) or has)
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
  return {places.of(FIELD, members[#members]), high}
end
-- Another writer may have begun the step again: it is ready only if no document is missing.
if redis.call('BITCOUNT', BITS) == has then
  redis.call('HSET', LADDER, name .. 'ready', '1')
end
return {'', ''}
