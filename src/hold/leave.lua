-- hold/leave: a waiter gives up its place in the line; or learns that its turn had come.
-- KEYS[1] record   see hold/acquire
-- KEYS[2] holders
-- KEYS[3] queue
-- ARGV[1] token
-- ARGV[2] place    the waiter as it stands in the queue
-- returns {1}, or {0, fence, lease left, now} when it holds
-- include: line

local left = redis.call('ZREM', KEYS[3], ARGV[2])
sweep()
hand_over()
local till = redis.call('ZSCORE', KEYS[2], ARGV[1])
if left == 1 or not till then
  if redis.call('EXISTS', KEYS[3]) == 1 then
    local first = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
    appoint(tonumber(first[2] or now))
  end
  return {1}
end
return {0, tonumber(string.match(redis.call('HGET', KEYS[1], ARGV[1]), '^%d+')), till - now, now}
