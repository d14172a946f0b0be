-- Numbers that hashes hold. See the essay of stats.c.

local FOREIGN = 'DAMAGED the statistics were not written by tackle'

-- The fields of a hash as numbers, 0 where they are not set.
local function read_numbers(key, fields)
  local numbers = redis.call('HMGET', key, unpack(fields))
  for i = 1, #fields do
    numbers[i] = tonumber(numbers[i] or 0)
    if not numbers[i] then
      error({err = FOREIGN})
    end
  end
  return numbers
end

-- As text that reads back as the same number.
local function exact(number)
  return string.format('%.17g', number)
end
