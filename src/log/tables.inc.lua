-- The tables of one severity. See the essay of log.c.
-- include: shared/hour

local FOREIGN = 'DAMAGED the numbers of the log were not written by tackle'

-- What the hash of a severity says, the size of its table, and its keys: hour, this, last.
local function read_severity(keys)
  local values = redis.call('HMGET', keys.hour, 'hour', 'other', 'last_hour', 'last_other')
  for _, value in ipairs(values) do
    if value and not tonumber(value) then
      error({err = FOREIGN})
    end
  end
  local stored_hour, other, last_hour, last_other = unpack(values)
  return {
    keys = keys,
    hour = tonumber(stored_hour),
    other = tonumber(other) or 0,
    last_hour = tonumber(last_hour),
    last_other = tonumber(last_other) or 0,
    size = redis.call('ZCARD', keys.this),
  }
end
