-- The slices of a counter. See the essay of counter.c.

local slices = {}

local FOREIGN = 'DAMAGED the counter was not written by tackle'
local AT_ONCE = 1000 -- fields of one command
local SAMPLES_MAX, PRECISIONS_MAX = 2000, 16
local SHAPE_MAX = 512 -- bytes

-- The number in a field, 0 when it is not set.
function slices.number_in(value)
  local number = tonumber(value or 0)
  if not number then
    error({err = FOREIGN})
  end
  return number
end

-- The samples and the precisions of a shape, "120 1000 5000".
function slices.read_shape(shape)
  local samples, rest = string.match(string.sub(shape, 1, SHAPE_MAX), '^(%d+)( [ %d]+)$')
  local precisions, shortest = {}, 1
  for precision in string.gmatch(rest or '', '%d+') do
    precisions[#precisions + 1] = tonumber(precision)
    shortest = math.min(shortest, precisions[#precisions])
  end
  samples = tonumber(samples) or 0
  if samples < 1 or samples > SAMPLES_MAX or shortest < 1
     or #precisions < 1 or #precisions > PRECISIONS_MAX then
    error({err = FOREIGN})
  end
  return samples, precisions
end

-- The place of an ended slice. Slices that are `samples` apart share a place.
function slices.place_of(precision, slice, samples)
  return string.format('%d:%d', precision, slice % samples)
end

-- The slice and the count in a place; nothing when it is empty.
function slices.read_place(value)
  if not value then
    return nil, 0
  end
  local slice, count = string.match(value, '^(%d+) (%-?%d+)$')
  if not slice then
    error({err = FOREIGN})
  end
  return tonumber(slice), tonumber(count)
end

-- Calls visit(place, wanted, slice, count) for the places of the slices from first to last.
function slices.visit_places(key, precision, samples, first, last, visit)
  for from = first, last, AT_ONCE do
    local places = {}
    for slice = from, math.min(last, from + AT_ONCE - 1) do
      places[#places + 1] = slices.place_of(precision, slice, samples)
    end
    for i, value in ipairs(redis.call('HMGET', key, unpack(places))) do
      visit(places[i], from + i - 1, slices.read_place(value))
    end
  end
end
