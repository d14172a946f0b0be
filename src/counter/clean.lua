-- counter/clean: remove the slices of one precision that have left the window.
-- KEYS[1] counter  hash, see counter/add
-- ARGV[1] number   of the precision among those of the counter, from 1
-- flags: allow-oom
-- returns how many were removed; -1: the counter has fewer precisions
-- include: shared/clock
-- include: shared/decimal
-- include: slices

local FIELDS_BESIDE = 3 -- beside the counts: shape, since, until
local COUNTER = KEYS[1]
local number = tonumber(ARGV[1])

local now = clock.ms()

local shape, since = unpack(redis.call('HMGET', COUNTER, 'shape', 'since'))
if not shape then
  return -1
end
local samples, precisions = slices.read_shape(shape)
local precision = precisions[number]
if not precision then
  return -1
end

local oldest = math.floor(now / precision) - samples + 1
local old = {}
if math.floor(slices.number_in(since) / precision) < oldest then
  old[1] = decimal.whole(precision)
end
slices.visit_places(COUNTER, precision, samples, 0, samples - 1, function(place, _, slice)
  if slice and slice < oldest then
    old[#old + 1] = place
  end
end)
local removed = 0
for from = 1, #old, AT_ONCE do
  removed = removed +
            redis.call('HDEL', COUNTER, unpack(old, from, math.min(#old, from + AT_ONCE - 1)))
end
if redis.call('HLEN', COUNTER) == FIELDS_BESIDE then -- no counts are left
  redis.call('UNLINK', COUNTER)
end
return removed
