-- queue/schedule_fire: push the job of a schedule now; its next time stays.
-- KEYS[1...] queue  see keys.inc.lua
-- ARGV[1] id        of the schedule
-- ARGV[2] lane      of this request, which may be repeated
-- returns {TKL_OK, id of the job}; {TKL_EXISTS, id of the job that has its unique key}; {TKL_FULL};
--   {TKL_NOTFOUND} when there is no such schedule
-- include: shared/clock
-- include: pushing
-- include: line
-- include: schedules

now = clock.ms()
local NUMBER = '1' -- number of the request in its lane
local id, lane = unpack(ARGV)

local before = pushing.answer_before(lane, NUMBER)
if before then
  return {TKL_OK, before}
end
local next_time, _, definition = schedules.read(redis.call('HGET', SCHEDULES, id))
local record = definition and schedules.record_of(definition)
if not record then
  return {TKL_NOTFOUND}
end
local waiting, meta = line.read_waiting(), totals.read()
local code, job_id = pushing.push_one(record, meta)
if code ~= TKL_OK then
  return {code, job_id}
end
redis.call('HSET', SCHEDULES, id, schedules.text(next_time, decimal.whole(now), definition))
pushing.remember_answer(lane, NUMBER, job_id)
line.wake(waiting, line.open_gate(meta))
return {TKL_OK, job_id}
