-- queue/pause: give no more jobs.
-- KEYS[1] meta
-- returns 0
redis.call('HSET', KEYS[1], 'paused', 1)
return 0
