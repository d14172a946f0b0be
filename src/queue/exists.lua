-- queue/exists: whether there is a queue.
-- KEYS[1...] queue  see keys.inc.lua
-- flags: no-writes
-- returns 0: there is none
-- include: totals

return redis.call('EXISTS', META, SCHEDULES)
