-- queue/schedule_pause: pause a schedule: it does not fire until it is resumed.
-- KEYS[1...] queue  see keys.inc.lua
-- ARGV[1] id
-- flags: allow-oom
-- returns how many there were: 1 or 0
-- include: schedules

local id = ARGV[1]

types.check_hashes(SCHEDULES)
types.check_zsets(DELAYED)
local next_time, last, definition = schedules.read(redis.call('HGET', SCHEDULES, id))
if not next_time then
  return 0
end
redis.call('HSET', SCHEDULES, id, schedules.text(PAUSED, last, definition))
redis.call('ZREM', DELAYED, schedules.timer(id))
return 1
