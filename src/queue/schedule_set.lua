-- queue/schedule_set: make or replace a schedule, unless it is there already. A paused one stays
--   paused.
-- KEYS[1...] queue    see keys.inc.lua
-- ARGV[1] id
-- ARGV[2] next        its first time
-- ARGV[3] definition  see schedule.h
-- ARGV[4] paused      1: it was paused in another partition; ''
-- returns 1, or 0 when nothing had to be changed
-- include: shared/clock
-- include: line
-- include: schedules

now = clock.ms()
local id, next_time, definition, paused = unpack(ARGV)

local old_next, last, old = schedules.read(redis.call('HGET', SCHEDULES, id))
if old == definition then
  return 0
end
local waiting, meta = line.read_waiting(), totals.read()
local is_paused = paused ~= '' or old_next == PAUSED
redis.call('HSET', SCHEDULES, id,
           schedules.text(is_paused and PAUSED or next_time, last or '0', definition))
if not is_paused then
  redis.call('ZADD', DELAYED, next_time, schedules.timer(id))
end
line.wake(waiting, line.open_gate(meta))
return 1
