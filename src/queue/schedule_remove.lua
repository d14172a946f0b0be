-- queue/schedule_remove: forget a schedule.
-- KEYS[1] delayed    zset
-- KEYS[2] schedules  hash
-- ARGV[1] id
-- returns how many there were: 1 or 0

redis.call('ZREM', KEYS[1], '@' .. ARGV[1])
return redis.call('HDEL', KEYS[2], ARGV[1])
