-- What was delayed and is due becomes ready, before what was not delayed. Schedules are told to the
-- caller and come again in a second, should it not see to them. `timers`: groups whose rate allows
-- another one; the caller takes them out.

redis.call('HLEN', KEYS[2]) -- must not fail later
redis.call('ZCARD', KEYS[3])
local due = redis.call('ZRANGE', KEYS[4], '-inf', stamp, 'BYSCORE', 'LIMIT', 0, 100, 'WITHSCORES')
local ids, times, places = {}, {}, {}
for i = 1, #due, 2 do
  local member = due[i]
  if string.byte(member) == 64 then -- @
    fire[#fire + 1] = string.sub(member, 2)
    redis.call('ZADD', KEYS[4], 'XX', string.format('%d', now + 1000), member)
  elseif string.byte(member) == 61 then -- =
    timers[#timers + 1] = string.sub(member, 2)
  else
    redis.call('ZREM', KEYS[4], member)
    ids[#ids + 1] = string.sub(member, 1, 13)
    times[#ids] = due[i + 1]
  end
end
if ids[1] then
  local records = redis.call('HMGET', KEYS[2], unpack(ids))
  for i, id in ipairs(ids) do
    local priority = string.match(records[i] or '', '^%a p(%S+)') or 0
    local since_2020 = math.max(times[i] - 1577836800000, 0)
    places[#places + 1] = string.format('%d', priority * 2^42 + 2^40 + since_2020)
    places[#places + 1] = id
  end
  redis.call('ZADD', KEYS[3], unpack(places))
end
