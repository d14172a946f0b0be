-- Values that hashes hold as numbers. See the essay of stats.c.
-- include: shared/decimal

local values = {}

local FOREIGN = 'DAMAGED the statistics were not written by tackle'

-- Returns the number in a text, 0 without a text. Any other text ends the script.
function values.to_number(text)
  return tonumber(text or 0) or error({err = FOREIGN})
end

-- Reads numbers of a hash, 0 where they are not set. Returns a table of the fields `names`, and a
-- list of the fields `others`.
function values.read_named(key, names, others)
  local fields, named, listed = {unpack(names)}, {}, {}
  for i, other in ipairs(others) do
    fields[#names + i] = other
  end
  local texts = redis.call('HMGET', key, unpack(fields))
  for i, name in ipairs(names) do
    named[name] = values.to_number(texts[i])
  end
  for i = 1, #others do
    listed[i] = values.to_number(texts[#names + i])
  end
  return named, listed
end
