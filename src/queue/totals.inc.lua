-- The totals, settings and limits of a queue, stored in META, and the types of its keys.
-- include: keys
-- include: shared/decimal
-- include: shared/types

local totals = {}

-- Checks the types of all keys on which the work depends. Most of them rarely exist.
function totals.check_keys()
  types.check_hashes(JOBS)
  types.check_zsets(READY, DELAYED, ACTIVE)
  if redis.call('EXISTS', HISTORY, PROGRESS, DEAD, UNIQUE, UNIQUE_ENDS, GROUPS, PARKED,
                RATES, FLOW, FLOW_PLACES, PARENTS, SINCE, HEADS) > 0 then
    types.check_hashes(HISTORY, PROGRESS, UNIQUE, GROUPS, FLOW_PLACES, PARENTS, SINCE, HEADS)
    types.check_zsets(DEAD, UNIQUE_ENDS, PARKED, RATES, FLOW)
  end
end

-- Fields of a hash as numbers, by name; nil for missing fields. A field that is not a number ends
-- the script.
function totals.numbers(key, ...)
  local names, values, found = {...}, redis.call('HMGET', key, ...), {}
  for i, name in ipairs(names) do
    local number = values[i] and tonumber(values[i])
    if values[i] and not (number and math.abs(number) <= EXACT) then
      error({err = 'DAMAGED the field ' .. name .. ' of ' .. key .. ' is not a number'})
    end
    found[name] = number or nil
  end
  return found
end

-- All of META as numbers, by name.
function totals.read()
  return totals.numbers(META, 'last', 'pushed', 'done', 'failed', 'bytes', 'large', 'paused',
                        'full_at', 'max_jobs', 'max_bytes', 'concurrency', 'rate', 'rate_period',
                        'group_concurrency', 'group_rate', 'group_rate_period', 'dead_max',
                        'dead_ms', 'keep_ms', 'keep_max', 'keep_bytes', 'watched')
end

-- Adds changes, by name, to the totals.
function totals.add(meta, changes)
  local fields = {}
  for name, change in pairs(changes) do
    meta[name] = math.max((meta[name] or 0) + change, 0)
    fields[#fields + 1] = name
    fields[#fields + 1] = decimal.whole(meta[name])
  end
  redis.call('HSET', META, unpack(fields))
end
