-- queue/exists: whether there is a queue.
-- KEYS[1...] queue  see keys.inc.lua
-- flags: no-writes
-- returns 1 or 0
-- include: totals

return redis.call('EXISTS', META)
