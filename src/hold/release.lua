-- hold/release: give it back, and hand it to the next.
-- KEYS[1] record   see hold/acquire
-- KEYS[2] holders
-- KEYS[3] queue
-- ARGV[1] token
-- returns 0, or 6 (TKL_NOTOWNER) when it was not held, or no more
-- include: line

local till = redis.call('ZSCORE', KEYS[2], ARGV[1])
if not till then
  return 6
end
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('HDEL', KEYS[1], ARGV[1])
if redis.call('EXISTS', KEYS[2], KEYS[3]) == 0 then
  redis.call('PEXPIRE', KEYS[1], LINGER_MS) -- for the fence only
else
  sweep()
  hand_over()
end
return tonumber(till) > now and 0 or 6
