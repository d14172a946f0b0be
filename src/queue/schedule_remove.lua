-- queue/schedule_remove: forget a schedule.
-- KEYS[1] delayed    zset
-- KEYS[2] schedules  hash
-- ARGV[1] id
-- ARGV[2] but        not when these are the schedules; '' to forget it everywhere
-- returns how many there were: 1 or 0

if KEYS[2] == ARGV[2] then
  return 0
end
redis.call('ZREM', KEYS[1], '@' .. ARGV[1])
return redis.call('HDEL', KEYS[2], ARGV[1])
