-- queue/pause: give no more jobs.
-- KEYS[1...] queue  see keys.inc.lua
-- returns 0
-- include: keys

allow_when_full()
redis.call('HSET', META, 'paused', 1)
return 0
