-- queue/schedule_remove: remove a schedule.
-- KEYS[1...] queue  see keys.inc.lua
-- ARGV[1] id
-- ARGV[2] but       not in the partition that has these schedules; '' to remove it everywhere
-- flags: allow-oom
-- returns 0 when there was none, 1, or 2 for one that was paused
-- include: schedules

local id, but = unpack(ARGV)

if SCHEDULES == but then
  return 0
end
types.check_hashes(SCHEDULES)
local is_paused = schedules.read(redis.call('HGET', SCHEDULES, id)) == PAUSED
redis.call('ZREM', DELAYED, schedules.timer(id))
return redis.call('HDEL', SCHEDULES, id) * (is_paused and 2 or 1)
