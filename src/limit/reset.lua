-- limit/reset: forget what a key has used, and wake programs that wait for concurrency.
-- KEYS[1] state
-- flags: allow-oom
-- returns 1; 0 when there was nothing to forget

local STATE = KEYS[1]

if redis.call('UNLINK', STATE) == 0 then
  return 0
end
redis.call('SPUBLISH', STATE, 'free')
return 1
