-- queue/schedule_set: make or replace a schedule, unless it is there already.
-- KEYS[1...] queue    see keys.inc.lua
-- ARGV[1] id
-- ARGV[2] next        its first time
-- ARGV[3] definition  see schedule.h
-- returns 1, or 0 when nothing had to be changed
-- include: shared/clock
local now = clock_ms()
-- include: line
-- include: schedules
local id, next_time, definition = unpack(ARGV)

local last, old = read_schedule(redis.call('HGET', SCHEDULES, id) or '')
if old == definition then
  return 0
end
local waiting, meta = check_waiting(), read_meta()
redis.call('HSET', SCHEDULES, id, schedule_text(next_time, last or '0', definition))
redis.call('ZADD', DELAYED, next_time, schedule_timer(id))
wake(waiting, open_gate(meta))
return 1
