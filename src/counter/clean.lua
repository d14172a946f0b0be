-- counter/clean: one step of removing the slices of a precision that have left the window.
-- KEYS[1] counter  hash, see counter/add
-- ARGV[1] number   of the precision in the counter's shape, from 1
-- ARGV[2] first    place: 0 for the first step, then as the last step returned it
-- flags: allow-oom
-- returns {how many were removed, first place of the next step; 0 when the precision is done}; {}
--   when the counter has fewer precisions
-- include: shared/clock
-- include: shared/decimal
-- include: slices

local FIELDS_BESIDE = 3 -- fields that are not counts: shape, since, until
local COUNTER = KEYS[1]
local PLACES = 500 -- looked at in one step
local number, first = tonumber(ARGV[1]), tonumber(ARGV[2])

local now = clock.ms()

local shape, since = unpack(redis.call('HMGET', COUNTER, 'shape', 'since'))
if not shape then
  return {}
end
local samples, precisions = slices.read_shape(shape)
local precision = precisions[number]
if not precision then
  return {}
end

local oldest = math.floor(now / precision) - samples + 1
local old = {}
if first == 0 and math.floor(slices.number_in(since) / precision) < oldest then
  old[1] = decimal.whole(precision)
end
local last = math.min(first + PLACES, samples) - 1
slices.visit_places(COUNTER, precision, samples, first, last, function(place, _, slice)
  if slice and slice < oldest then
    old[#old + 1] = place
  end
end)
local removed = old[1] and redis.call('HDEL', COUNTER, unpack(old)) or 0
if redis.call('HLEN', COUNTER) == FIELDS_BESIDE then -- no counts are left
  redis.call('UNLINK', COUNTER)
end
return {removed, last + 1 < samples and last + 1 or 0}
