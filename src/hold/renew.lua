-- hold/renew: make the lease last from now; a writer may become a reader.
-- KEYS[1] record   see hold/acquire
-- KEYS[2] holders
-- KEYS[3] queue
-- ARGV[1] token
-- ARGV[2] lease    microseconds
-- ARGV[3] mode     s: downgrade; '' leaves it
-- returns {0, fence, lease, now} or {6} (TKL_NOTOWNER) when it is not held any more
-- include: line

local till = redis.call('ZSCORE', KEYS[2], ARGV[1])
if not till or tonumber(till) <= now then
  return {6}
end
local lease = tonumber(ARGV[2])
redis.call('ZADD', KEYS[2], text(now + lease), ARGV[1])
outlive(lease, redis.call('ZCARD', KEYS[2]) == 1)
if ARGV[3] == 's' and redis.call('HGET', KEYS[1], 'mode') == 'x' then
  redis.call('HSET', KEYS[1], 'mode', 's')
  hand_over()
end
if now + lease < tonumber(till) then
  appoint(now + lease)
end
return {0, tonumber(string.match(redis.call('HGET', KEYS[1], ARGV[1]), '^%d+')), lease, now}
