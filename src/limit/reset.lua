-- limit/reset: forget what a key has used, and wake programs that wait for concurrency.
-- KEYS[1] state
-- returns 1; 0 when there was nothing to forget

if redis.call('UNLINK', KEYS[1]) == 0 then
  return 0
end
redis.call('SPUBLISH', KEYS[1], 'free')
return 1
