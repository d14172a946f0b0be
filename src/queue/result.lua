-- queue/result: what became of a job.
-- KEYS[1] jobs
-- KEYS[2] extras
-- KEYS[3] dead
-- KEYS[4] result   of this job
-- ARGV[1] id
-- returns {0, result}, {2} when it has not ended (TKL_EMPTY), {4} when nobody knows (TKL_NOTFOUND),
--   or {-15, why} when it is dead (TKL_ELOST)

local result = redis.call('GET', KEYS[4])
if result then
  return {0, result}
end
local record = redis.call('HGET', KEYS[1], ARGV[1])
if not record or not string.find(string.match(record, '^[^\n]*'), ' o', 1, true) then
  return {4}
end
if not redis.call('ZSCORE', KEYS[3], ARGV[1]) then
  return {2}
end
local why = redis.call('HGET', KEYS[2], ARGV[1]) or ''
return {-15, string.match(why, '^%d+ (.*)$') or ''}
