-- counter/read: the counts of the slices of one precision.
-- KEYS[1] counter    hash, see counter/add
-- ARGV[1] precision  ms
-- ARGV[2] from       ms; 0: as far back as it goes
-- ARGV[3] to         ms; 0, or later than now: now
-- ARGV[4] shape      that the counter must have; '': any
-- flags: no-writes
-- returns {} no such counter; {shape} the counter has another shape, or no such precision; else
--   {samples, first slice, last slice, then slice and count: of the current slice, and of each
--   slice in which something was counted}; a slice may occur twice
-- include: shared/clock
-- include: slices

local COUNTER = KEYS[1]
local field = ARGV[1]
local precision, from, to = tonumber(field), tonumber(ARGV[2]), tonumber(ARGV[3])
local wanted_shape = ARGV[4]

local now = clock.ms()

local shape, since, current = unpack(redis.call('HMGET', COUNTER, 'shape', 'since', field))
if not shape then
  return {}
end
local samples, precisions = slices.read_shape(shape)
local known = false
for _, one in ipairs(precisions) do
  known = known or one == precision
end
if not known or wanted_shape ~= '' and wanted_shape ~= shape then
  return {shape}
end

local current_slice = math.floor(now / precision)
local last = to > 0 and math.min(math.floor(to / precision), current_slice) or current_slice
local oldest = current_slice - samples + 1
local first = math.max(from > 0 and math.floor(from / precision) or oldest, oldest, 0)
local slice_of_current = math.floor(slices.number_in(since) / precision)
local answer = {samples, first, last, slice_of_current, slices.number_in(current)}
slices.visit_places(COUNTER, precision, samples, first, last, function(_, wanted, slice, count)
  if slice == wanted then
    answer[#answer + 1] = slice
    answer[#answer + 1] = count
  end
end)
return answer
