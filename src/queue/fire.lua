-- queue/fire: push the job of a schedule whose time has come, and set its next time.
-- KEYS[1...] queue   see keys.inc.lua
-- ARGV[1] id         of the schedule
-- ARGV[2] beginning  of it, up to the record, as it was when the next time was found
-- ARGV[3] next       time
-- ARGV[4] pushes     1, or '' when the time that has come is to be skipped
-- returns TKL_OK; TKL_NOTFOUND when another consumer fired it; TKL_FULL: it stays due
-- include: shared/clock
-- include: pushing
-- include: line
-- include: schedules

now = clock.ms()
local id, beginning, next_time, pushes = unpack(ARGV)

local schedule = redis.call('HGET', SCHEDULES, id) or ''
if string.sub(schedule, 1, #beginning) ~= beginning then
  return TKL_NOTFOUND
end
local waiting, meta = line.read_waiting(), totals.read()
local _, last, definition = schedules.read(schedule)
if pushes ~= '' then
  local code = pushing.push_one(string.sub(schedule, #beginning + 1), meta)
  if code == TKL_FULL then
    return TKL_FULL
  end
  last = decimal.whole(now)
end
redis.call('HSET', SCHEDULES, id, schedules.text(next_time, last, definition))
redis.call('ZADD', DELAYED, next_time, schedules.timer(id))
line.wake(waiting, line.open_gate(meta))
return TKL_OK
