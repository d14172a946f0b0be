-- queue/pause: give no more jobs.
-- KEYS[1...] queue  see keys.inc.lua
-- returns TKL_OK
-- include: keys

allow_when_full()
redis.call('HSET', META, 'paused', 1)
return TKL_OK
