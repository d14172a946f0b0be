-- counter/add_at: add to the slices of an earlier time, of every precision that still keeps them.
-- KEYS[1] counter  hash, see counter/add
-- ARGV[1] amount
-- ARGV[2] shape    samples and precisions (ms): "120 1000 5000"
-- ARGV[3] strict   1: the counter must have this shape; 0: it is for a new counter
-- ARGV[4] at       the time, in ms
-- returns 1 done, 0 the counter has another shape, -1 a slice would be too large, -2 no precision
--   keeps a slice of that time any more, -3 the time is in the future
-- include: shared/clock
-- include: shared/decimal
-- include: turning

now = clock.ms()
local COUNTER = KEYS[1]
local amount, shape, strict, at = tonumber(ARGV[1]), ARGV[2], ARGV[3], tonumber(ARGV[4])

if at > now + TKL__AT_AHEAD_MS then
  return -3
end
at = math.min(at, now)
local stored, since, till = unpack(redis.call('HMGET', COUNTER, 'shape', 'since', 'until'))
if stored and stored ~= shape then
  if strict == '1' then
    return 0
  end
  shape = stored
end
local samples, precisions = slices.read_shape(shape)

-- The fields of the slices of that time: the count of the current slice, or the place of an ended
-- slice. Precisions that keep no slice of that time have no field.
local fields, ended = {}, {}
for _, precision in ipairs(precisions) do
  local slice, current = math.floor(at / precision), math.floor(now / precision)
  local next = #fields + 1
  if slice == current then
    fields[next], ended[next] = decimal.whole(precision), false
  elseif slice > current - samples then
    fields[next], ended[next] = slices.place_of(precision, slice, samples), slice
  end
end
if #fields == 0 then
  return -2
end

since, till = slices.number_in(since), slices.number_in(till)
if now < since or now >= till then
  turning.begin(COUNTER, shape, since)
end
local changes = {}
for i, value in ipairs(redis.call('HMGET', COUNTER, unpack(fields))) do
  local slice, count = ended[i], 0
  if not slice then
    count = slices.number_in(value)
  else
    local there, counted = slices.read_place(value)
    count = there == slice and counted or 0
  end
  count = count + amount
  if math.abs(count) >= EXACT then
    return -1
  end
  changes[2 * i - 1] = fields[i]
  changes[2 * i] = slice and string.format('%d %d', slice, count) or decimal.whole(count)
end
redis.call('HSET', COUNTER, unpack(changes))
return 1
