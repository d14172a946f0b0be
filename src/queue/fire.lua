-- queue/fire: push the job of a schedule whose time has come, and set its next time.
-- KEYS[1...] queue   see keys.inc.lua
-- ARGV[1] id         of the schedule
-- ARGV[2] beginning  of it, up to the record, as it was when the next time was found
-- ARGV[3] next       time
-- ARGV[4] pushes     1, or '' when the time that has come is to be skipped
-- returns 0; 4 (TKL_NOTFOUND) when another consumer saw to it; 5 (TKL_FULL): it stays due
-- include: clock
local now = clock()
-- include: push
-- include: line
local id, beginning, next_time, pushes = unpack(ARGV)

local schedule = redis.call('HGET', SCHEDULES, id) or ''
if string.sub(schedule, 1, #beginning) ~= beginning then
  return CODE_NOTFOUND
end
local waiting, meta = check_waiting(), read_meta()
local stock = open_stock(meta)
local record = string.sub(schedule, #beginning + 1)
local last, rest = string.match(beginning, '^%d+ (%d+) (.*)$')
local job = read(record)
local is_wanted = pushes ~= '' and not (job.unique > 0 and holder_of(job.unique_key))
if is_wanted and not has_room(stock, meta, record) then
  return CODE_FULL
end
if is_wanted then
  local job_id = add_to_stock(stock, record)
  redis.call('HSET', JOBS, job_id, record)
  redis.call('ZADD', READY, place(job.priority, PUSHED), job_id)
  hold_unique(job, job_id)
  close_stock(stock, meta)
end
redis.call('HSET', SCHEDULES, id,
           next_time .. ' ' .. (pushes ~= '' and text(now) or last) .. ' ' .. rest .. record)
redis.call('ZADD', DELAYED, next_time, 'schedule:' .. id)
let_unique_expire()
prune_unique()
wake(waiting, open_gate(meta))
return 0
