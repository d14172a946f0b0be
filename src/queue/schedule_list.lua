-- queue/schedule_list: all schedules.
-- KEYS[1] schedules  hash
-- returns {id, schedule, ...}

return redis.call('HGETALL', KEYS[1])
