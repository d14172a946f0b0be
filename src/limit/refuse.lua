-- limit/refuse: count checks of a limit that were refused, and those that were allowed.
-- KEYS[1] counts  hash: hour; refused in it, and in the one before; total; allowed; last (ms)
-- KEYS[2] keys    sorted set: the keys by how often they were refused in this hour
-- KEYS[3] before  the same of the hour before
-- ARGV[1] refused
-- ARGV[2] allowed
-- ARGV[3...] two for each key: the key, escaped as in its own key, and how often it was refused
-- returns 1
-- include: shared/hours

-- Most keys of an hour. A new key always gets in; when the set is too large, the keys that were
-- refused least leave. So no number is too high.
local MOST, KEPT = 200, 100
local STAYS = 86400 -- seconds after the last report
local COUNTS, NAMES, BEFORE = KEYS[1], KEYS[2], KEYS[3]

local now = clock.us()
local hour = hours.at(now)
local stored, refused = unpack(redis.call('HMGET', COUNTS, 'hour', 'refused'))
local age = tonumber(stored) and hours.age(tonumber(stored), hour) or 'gone'

if age ~= 'this' then
  redis.call('UNLINK', BEFORE)
  if age == 'last' and redis.call('EXISTS', NAMES) == 1 then
    redis.call('RENAME', NAMES, BEFORE)
    redis.call('EXPIREAT', BEFORE, hours.end_of_last(hour))
  end
  redis.call('UNLINK', NAMES)
  redis.call('HSET', COUNTS, 'hour', decimal.whole(hour), 'refused', 0,
             'before', age == 'last' and refused or 0)
end
redis.call('HINCRBY', COUNTS, 'refused', ARGV[1])
redis.call('HINCRBY', COUNTS, 'total', ARGV[1])
redis.call('HINCRBY', COUNTS, 'allowed', ARGV[2])
if ARGV[1] ~= '0' then
  redis.call('HSET', COUNTS, 'last', decimal.whole(clock.to_ms(now)))
end
redis.call('EXPIRE', COUNTS, STAYS)
for i = 3, #ARGV, 2 do
  redis.call('ZINCRBY', NAMES, ARGV[i + 1], ARGV[i])
end
if #ARGV > 2 then
  if redis.call('ZCARD', NAMES) > MOST then
    redis.call('ZREMRANGEBYRANK', NAMES, 0, -KEPT - 1)
  end
  redis.call('EXPIREAT', NAMES, hours.end_of_this(hour))
end
return 1
