-- queue/result: the outcome of a job.
-- KEYS[1...] queue  see keys.inc.lua; the last is the result of this job
-- ARGV[1] id
-- flags: no-writes
-- returns {TKL_OK, result}, {TKL_EMPTY} when it has not ended, {TKL_NOTFOUND} when it is unknown,
--   or {TKL_DEAD, why}
-- include: shared/clock
-- include: jobs

now = clock.ms()
local id = ARGV[1]

local result = redis.call('GET', RESULT)
if result then
  return {TKL_OK, result}
end
local record = redis.call('HGET', JOBS, id)
if not record or not jobs.read(record).result then
  return {TKL_NOTFOUND}
end
if not redis.call('ZSCORE', DEAD, id) then
  return {TKL_EMPTY}
end
return {TKL_DEAD, jobs.read_history(redis.call('HGET', HISTORY, id)).problem}
