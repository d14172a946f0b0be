-- Of the jobs about to be claimed, those whose group must wait step aside: they are parked. `more`: all
-- of them did, and what comes behind may be claimed.

local AT_MOST = 1000
redis.call('HLEN', UNIQUE) -- must not fail later

-- One that was started before has its place in the group.
local function may_start(id, record, extra)
  local line, unique, group = read(record)
  if group ~= '' and not extra then
    if most and tonumber(redis.call('HGET', GROUPS, group) or 0) >= most
       or period and not within_rate(group) then
      redis.call('ZADD', PARKED, 0, parking_spot(group, line, id))
      redis.call('ZREM', READY, id)
      return false
    end
    redis.call('HINCRBY', GROUPS, group, 1)
  end
  if string.find(line, ' s1', 1, true) and redis.call('HGET', UNIQUE, unique) == id then
    redis.call('HDEL', UNIQUE, unique)
  end
  return true
end

local kept = {}
for i, id in ipairs(ids) do
  if not records[i] or string.byte(records[i]) ~= 115 or may_start(id, records[i], extras[i]) then
    local k = #kept + 1
    kept[k], records[k], extras[k] = id, records[i], extras[i]
  end
end
aside = aside + #ids - #kept
for i = #kept + 1, #ids do
  records[i], extras[i] = nil, nil
end
more = not kept[1] and aside < AT_MOST
if not kept[1] and not more then
  opens, look_in = now, 0 -- there may be more, but this takes long enough
end
ids = kept
