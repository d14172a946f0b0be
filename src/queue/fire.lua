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
local stock = pushing.open_stock(meta)
local record = string.sub(schedule, #beginning + 1)
local last, rest = schedules.read(beginning)
local job = jobs.read(record)
local is_wanted = pushes ~= '' and not (job.unique > 0 and unique.holder_of(job.unique_key))
if is_wanted and not pushing.has_room(stock, meta, record) then
  return TKL_FULL
end
if is_wanted then
  local job_id = pushing.add_to_stock(stock, record)
  redis.call('HSET', JOBS, job_id, record)
  redis.call('ZADD', READY, jobs.place(job.priority, PUSHED), job_id)
  unique.hold(job, job_id)
  pushing.close_stock(stock, meta)
  events.tell(meta, 'pushed', {job_id})
end
redis.call('HSET', SCHEDULES, id,
           schedules.text(next_time, pushes ~= '' and decimal.whole(now) or last, rest .. record))
redis.call('ZADD', DELAYED, next_time, schedules.timer(id))
unique.let_expire()
unique.prune()
line.wake(waiting, line.open_gate(meta))
return TKL_OK
