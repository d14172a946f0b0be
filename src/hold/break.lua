-- hold/break: take it away from all who hold it, and hand it to the next.
-- KEYS[1] record   see hold/acquire
-- KEYS[2] holders
-- KEYS[3] queue
-- ARGV[1] most     holders to forget in one go
-- returns how many held it
-- include: line

sweep()
local held = redis.call('ZRANGE', KEYS[2], 0, ARGV[1] - 1)
if #held > 0 then
  redis.call('ZREM', KEYS[2], unpack(held))
  redis.call('HDEL', KEYS[1], unpack(held))
  hand_over()
end
return #held
