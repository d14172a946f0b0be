-- queue/schedule_resume: resume a paused schedule.
-- KEYS[1...] queue   see keys.inc.lua
-- ARGV[1] id
-- ARGV[2] beginning  of it, up to the record, as it was when the next time was found
-- ARGV[3] next       time
-- flags: allow-oom
-- returns TKL_OK, or TKL_EMPTY when it has changed: its next time must be found again
-- include: shared/clock
-- include: line
-- include: schedules

now = clock.ms()
local id, beginning, next_time = unpack(ARGV)

local schedule = redis.call('HGET', SCHEDULES, id) or ''
if string.sub(schedule, 1, #beginning) ~= beginning then
  return TKL_EMPTY
end
local waiting, meta = line.read_waiting(), totals.read()
local _, last, definition = schedules.read(schedule)
redis.call('HSET', SCHEDULES, id, schedules.text(next_time, last, definition))
redis.call('ZADD', DELAYED, next_time, schedules.timer(id))
line.wake(waiting, line.open_gate(meta))
return TKL_OK
