-- queue/fire: push the job of a schedule whose time has come, and set its next time.
-- KEYS[1...] queue   see keys.inc.lua
-- ARGV[1] id         of the schedule
-- ARGV[2] beginning  of it, up to the record, as it was when the next time was found
-- ARGV[3] next       time
-- ARGV[4] pushes     1, or '' when the time that has come is to be skipped
-- returns TKL_OK; TKL_NOTFOUND when another consumer saw to it; TKL_FULL: it stays due
-- include: shared/clock
local now = clock_ms()
-- include: push
-- include: line
-- include: schedules
local id, beginning, next_time, pushes = unpack(ARGV)

local schedule = redis.call('HGET', SCHEDULES, id) or ''
if string.sub(schedule, 1, #beginning) ~= beginning then
  return TKL_NOTFOUND
end
local waiting, meta = check_waiting(), read_meta()
local stock = open_stock(meta)
local record = string.sub(schedule, #beginning + 1)
local last, rest = read_schedule(beginning)
local job = read(record)
local is_wanted = pushes ~= '' and not (job.unique > 0 and holder_of(job.unique_key))
if is_wanted and not has_room(stock, meta, record) then
  return TKL_FULL
end
if is_wanted then
  local job_id = add_to_stock(stock, record)
  redis.call('HSET', JOBS, job_id, record)
  redis.call('ZADD', READY, place(job.priority, PUSHED), job_id)
  hold_unique(job, job_id)
  close_stock(stock, meta)
end
redis.call('HSET', SCHEDULES, id,
           schedule_text(next_time, pushes ~= '' and text(now) or last, rest .. record))
redis.call('ZADD', DELAYED, next_time, schedule_timer(id))
let_unique_expire()
prune_unique()
wake(waiting, open_gate(meta))
return TKL_OK
