-- hold/release: give it back, and hand it to the next.
-- KEYS[1] record   see hold/acquire
-- KEYS[2] holders
-- KEYS[3] queue
-- ARGV[1] token
-- returns 0, or 6 (TKL_NOTOWNER) when it was not held, or no more
-- include: clock

-- The common case: held alone, and nobody waits.
local x = redis.call('HGET', KEYS[1], 'x')
if x and string.sub(x, 18, 49) == ARGV[1] and redis.call('EXISTS', KEYS[3]) == 0 then
  local till = tonumber(string.sub(x, 1, 16))
  redis.call('HDEL', KEYS[1], 'x')
  if till - now > LINGER * 1000 then
    redis.call('PEXPIRE', KEYS[1], LINGER)
  end
  return till > now and 0 or 6
end

-- include: line

local till = find(ARGV[1])
if not till then
  return 6
end
drop(ARGV[1])
sweep()
hand_over()
if redis.call('EXISTS', KEYS[2], KEYS[3]) == 0 and not writer() then
  redis.call('PEXPIRE', KEYS[1], LINGER)
end
return till > now and 0 or 6
