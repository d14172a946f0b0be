-- queue/schedule_remove: forget a schedule.
-- KEYS[1...] queue  see keys.inc.lua
-- ARGV[1] id
-- ARGV[2] but       not in the partition that has these schedules; '' to forget it everywhere
-- flags: allow-oom
-- returns how many there were: 1 or 0
-- include: schedules

local id, but = unpack(ARGV)

if SCHEDULES == but then
  return 0
end
types.check_hashes(SCHEDULES)
redis.call('ZREM', DELAYED, schedules.timer(id))
return redis.call('HDEL', SCHEDULES, id)
