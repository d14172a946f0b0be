-- The tables of one severity. See the essay of log.c.
-- include: shared/hour

local FOREIGN = 'DAMAGED the numbers of the log were not written by tackle'

-- What the hash of a severity says, the size of its table, and its keys: hour, this, last.
local function read_severity(keys)
  local values = redis.call('HMGET', keys.hour, 'hour', 'other', 'last_hour', 'last_other')
  for i = 1, 4 do
    if values[i] and not tonumber(values[i]) then
      error({err = FOREIGN})
    end
  end
  return {
    keys = keys,
    hour = tonumber(values[1]),
    other = tonumber(values[2]) or 0,
    last_hour = tonumber(values[3]),
    last_other = tonumber(values[4]) or 0,
    size = redis.call('ZCARD', keys.this),
  }
end
