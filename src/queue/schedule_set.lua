-- queue/schedule_set: make or replace a schedule, unless it is there already.
-- KEYS[1...] queue    see keys.inc.lua
-- ARGV[1] id
-- ARGV[2] next        its first time
-- ARGV[3] definition  see schedule.h
-- returns 1, or 0 when nothing had to be changed
-- include: shared/clock
-- include: line
-- include: schedules

now = clock.ms()
local id, next_time, definition = unpack(ARGV)

local last, old = schedules.read(redis.call('HGET', SCHEDULES, id) or '')
if old == definition then
  return 0
end
local waiting, meta = line.read_waiting(), totals.read()
redis.call('HSET', SCHEDULES, id, schedules.text(next_time, last or '0', definition))
redis.call('ZADD', DELAYED, next_time, schedules.timer(id))
line.wake(waiting, line.open_gate(meta))
return 1
