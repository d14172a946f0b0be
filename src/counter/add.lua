-- counter/add: add to the current slice of every precision.
-- KEYS[1] counter  hash: shape, since, until, current counts, ended slices
-- ARGV[1] amount
-- ARGV[2] shape    samples and precisions (ms): "120 1000 5000"
-- ARGV[3] strict   1: the counter must have this shape; 0: it is for a new counter
-- ARGV[4...] precisions  the precisions of the shape
-- returns 1 done, 0 the counter has another shape, -1 a slice would be too large
-- include: shared/clock
-- include: shared/decimal
-- include: turning

now = clock.ms()
local FIRST_PRECISION = 4 -- index of the first precision in the arguments
local COUNTER = KEYS[1]
local amount, shape, strict = ARGV[1], ARGV[2], ARGV[3]

-- Subtracts the amount again from the first precisions, up to `last`.
local function undo(precisions, last)
  for i = 1, last do
    redis.call('HINCRBY', COUNTER, precisions[i], decimal.whole(-amount))
  end
end

local stored, since, till = unpack(redis.call('HMGET', COUNTER, 'shape', 'since', 'until'))
local precisions = {unpack(ARGV, FIRST_PRECISION)}
if stored and stored ~= shape then
  if strict == '1' then
    return 0
  end
  shape = stored
  local _
  _, precisions = slices.read_shape(shape)
end
since, till = slices.number_in(since), slices.number_in(till)
if now < since or now >= till then
  turning.begin(COUNTER, shape, since)
end

for i, precision in ipairs(precisions) do
  local count = redis.pcall('HINCRBY', COUNTER, precision, amount)
  if type(count) == 'table' then -- an error
    undo(precisions, i - 1)
    return string.find(count.err, 'not an integer', 1, true) and {err = FOREIGN} or count
  elseif math.abs(count) >= EXACT then
    undo(precisions, i)
    return -1
  end
end
return 1
