-- queue/exists: whether there is a queue.
-- KEYS[1...] queue  see keys.inc.lua
-- returns 1 or 0
-- include: keys

return redis.call('EXISTS', META)
