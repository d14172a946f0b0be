-- queue/result: what became of a job.
-- KEYS[1...] queue  see keys.inc.lua; the last is the result of this job
-- ARGV[1] id
-- returns {0, result}, {2} when it has not ended (TKL_EMPTY), {4} when nobody knows (TKL_NOTFOUND),
--   or {8, why} when it is dead (TKL_DEAD)
-- include: clock
local now = clock()
-- include: jobs
local id = ARGV[1]

local result = redis.call('GET', RESULT)
if result then
  return {0, result}
end
local record = redis.call('HGET', JOBS, id)
if not record or not read(record).result then
  return {CODE_NOTFOUND}
end
if not redis.call('ZSCORE', DEAD, id) then
  return {CODE_EMPTY}
end
return {CODE_DEAD, read_history(redis.call('HGET', HISTORY, id)).problem}
