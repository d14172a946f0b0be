-- queue/pause: give no more jobs.
-- KEYS[1...] queue  see keys.inc.lua
-- flags: allow-oom
-- returns TKL_OK
-- include: totals

redis.call('HSET', META, 'paused', 1)
return TKL_OK
