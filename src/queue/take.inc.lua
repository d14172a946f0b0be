-- The first of what is ready: `ids`, at most about 4 MB of them. `starts`: there is more to the start
-- of one of them.

local MOST_BYTES = 4194304
if max > 0 and room > 0 then
  ids = redis.call('ZRANGE', KEYS[3], 0, math.min(max, room) - 1)
end
local sum = 0
for i = 2, rules[6] and #ids or 0 do
  sum = sum + redis.call('HSTRLEN', KEYS[2], ids[i - 1])
  if sum > MOST_BYTES then
    ids = {unpack(ids, 1, i - 1)}
    break
  end
end
if ids[1] then
  records = redis.call('HMGET', KEYS[2], unpack(ids))
  if redis.call('EXISTS', KEYS[6]) == 1 then
    extras = redis.call('HMGET', KEYS[6], unpack(ids))
  end
  local byte = string.byte
  for i = 1, #ids do
    local record = records[i]
    if record and byte(record) == 115 then
      starts = true
      break
    end
  end
end
