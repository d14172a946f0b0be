-- queue/show: one job, and where it is.
-- KEYS[1] jobs
-- KEYS[2] extras
-- KEYS[3] ready
-- KEYS[4] delayed
-- KEYS[5] active
-- KEYS[6] dead
-- KEYS[7] parked
-- KEYS[8] flow
-- KEYS[9] result    of this job
-- ARGV[1] id
-- ARGV[2] cursor    of the search among the active; 0 to begin with
-- returns {state, member, score, record, extra, progress}, {} when there is no such job, or the
--   cursor to go on with
local JOBS, EXTRAS, READY, DELAYED = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local ACTIVE, DEAD, PARKED, FLOW = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
-- include: clock
-- include: read
-- include: find

local id = ARGV[1]
local record = redis.call('HGET', JOBS, id)
if not record then
  return redis.call('EXISTS', KEYS[9]) == 1 and {5, id, '0', '', '', ''} or {}
end
local state, _, member, score = find(id, record, ARGV[2])
if cursor ~= '0' then
  return cursor
end
if state == 2 and tonumber(score) <= now then
  state = 1 -- the next claim sees to that
end
local more = redis.call('HMGET', EXTRAS, id, 'p' .. id)
return {state, member or id, score or '0', record, more[1] or '', more[2] or ''}
