-- queue/schedule_list: all schedules.
-- KEYS[1...] queue  see keys.inc.lua
-- returns {id, schedule, ...}
-- include: keys

return redis.call('HGETALL', SCHEDULES)
