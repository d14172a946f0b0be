-- Groups: those of a group that may not start yet are parked; see "Groups" in queue.c.

redis.call('HLEN', GROUPS) -- must not fail later
redis.call('ZCARD', PARKED)

-- The next one back to the queue: the claim sees whether it may start.
local function unpark(group)
  local all = string.format('%04d', #group) .. group
  local first = redis.call('ZRANGE', PARKED, '[' .. all, '(' .. all .. ':', 'BYLEX',
                           'LIMIT', 0, 1)[1]
  if first then
    local level = string.sub(first, -17, -14) * 4 - 3998 -- see parking_spot()
    redis.call('ZREM', PARKED, first)
    redis.call('ZADD', READY, string.format('%.0f', level * 2 ^ 40), string.sub(first, -13))
  end
end

-- One of a group counts no more, and makes room for the next. '': it has no group.
local function free_place(group)
  if group == '' then
    return
  end
  if redis.call('HINCRBY', GROUPS, group, -1) <= 0 then
    redis.call('HDEL', GROUPS, group)
  end
  unpark(group)
end
