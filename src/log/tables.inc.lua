-- The tables of one severity. See the essay of log.c.
-- include: shared/hours

local tables = {}

local FOREIGN = 'DAMAGED the numbers of the log were not written by tackle'
local SLICE, SLICES = 600, 6 -- seconds of a slice, and slices of an hour

-- The slice of an hour, from 0, that contains a time in microseconds. After the clock was set back,
-- the hour may not have begun yet: then it is the first slice.
function tables.slice_at(microseconds, hour)
  local slice = math.floor((microseconds / US_PER_S - hour * HOUR) / SLICE)
  return math.max(0, math.min(slice, SLICES - 1))
end

-- The field of a message in a slice.
function tables.field_of(slice, message)
  return slice .. ':' .. message
end

-- The fields of a message in all slices.
function tables.fields_of(message)
  local fields = {}
  for slice = 0, SLICES - 1 do
    fields[#fields + 1] = tables.field_of(slice, message)
  end
  return fields
end

-- Reads the hash of an hour: the hour (nil: no hash), and the bound of its table.
function tables.read_hour(key)
  local values = redis.call('HMGET', key, 'hour', 'bound')
  for _, value in ipairs(values) do
    if value and not tonumber(value) then
      error({err = FOREIGN})
    end
  end
  local hour, bound = unpack(values)
  return {hour = tonumber(hour), bound = tonumber(bound) or 0}
end
