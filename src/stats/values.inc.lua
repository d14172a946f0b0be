-- Numbers that hashes hold. See the essay of stats.c.
-- include: shared/exact

local FOREIGN = 'DAMAGED the statistics were not written by tackle'

local function to_number(text)
  return tonumber(text or 0) or error({err = FOREIGN})
end

-- Numbers of a hash by name, 0 where they are not set, and behind them those of other fields as a
-- list.
local function read_named(key, names, others)
  local fields, named, listed = {unpack(names)}, {}, {}
  for i, other in ipairs(others) do
    fields[#names + i] = other
  end
  local texts = redis.call('HMGET', key, unpack(fields))
  for i, name in ipairs(names) do
    named[name] = to_number(texts[i])
  end
  for i = 1, #others do
    listed[i] = to_number(texts[#names + i])
  end
  return named, listed
end

-- As text that reads back as the same number. Whole numbers take a third of the time.
local function exact(number)
  if number % 1 == 0 and number < EXACT and number > -EXACT then
    return string.format('%d', number)
  end
  return string.format('%.17g', number)
end
