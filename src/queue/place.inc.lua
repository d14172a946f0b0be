-- Where a pushed job goes.

-- What tells a job's end shall not take long: so many may wait for it, of 14 bytes each.
local MOST_PARENTS = 1000

-- Those that a job waits for, which are still to be done; nil, false when there is no room for one, or
-- at one.
local function children(places)
  local pending = {}
  for place in string.gmatch(places, '%d+') do
    local child = ids[tonumber(place)]
    if not child or redis.call('HSTRLEN', KEYS[6], 'c' .. child) >= 14 * MOST_PARENTS then
      return nil, false
    end
    if redis.call('HEXISTS', KEYS[2], child) == 1 then
      pending[#pending + 1] = child
    end
  end
  return pending, true
end

-- Into the flow, the delayed, or the ready.
local function put(id, place, line, pending)
  local sign, due = string.byte(place), 0
  if sign == 43 or sign == 64 then -- + or @
    due = string.sub(place, 2) + (sign == 43 and now or 0)
  end
  if pending[1] then
    redis.call('ZADD', KEYS[13], #pending, id)
    redis.call('HSET', KEYS[6], 'd' .. id, as_pushed(line) .. string.format(' %.0f', due))
    for _, child in ipairs(pending) do
      local others = redis.call('HGET', KEYS[6], 'c' .. child) or ''
      redis.call('HSET', KEYS[6], 'c' .. child, others .. ' ' .. id)
    end
  elseif due > 0 then
    redis.call('ZADD', KEYS[4], string.format('%.0f', due), id)
    soonest = math.min(soonest or due, due)
  else
    redis.call('ZADD', KEYS[3], place, id)
  end
end
