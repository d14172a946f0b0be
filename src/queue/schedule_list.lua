-- queue/schedule_list: all schedules.
-- KEYS[1...] queue  see keys.inc.lua
-- flags: no-writes
-- returns {id, schedule, ...}
-- include: totals

return redis.call('HGETALL', SCHEDULES)
