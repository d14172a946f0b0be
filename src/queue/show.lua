-- queue/show: one job, and where it is.
-- KEYS[1...] queue  see keys.inc.lua; the last is the result of this job
-- ARGV[1] id
-- ARGV[2] cursor    of the search among the active; 0 to begin with
-- ARGV[3] cut       bytes of the payload in the answer; 0 for all of it
-- flags: no-writes
-- returns {state, score, record, history, progress, since when it is claimed, by whom (see
--   workers.claimant()), size of the whole record, result}, {} when there is no such job, or
--   {cursor to go on with}
-- include: shared/clock
-- include: finding
-- include: sets

now = clock.ms()
local id, cursor, cut = unpack(ARGV)
cut = tonumber(cut)

-- Answers for a job that is done: the queue keeps it, or only its result, or nothing.
local function show_done()
  local score = redis.call('ZSCORE', DONE, id)
  local record, _, kept = sets.read('done', id, cut)
  if score and record and tonumber(score) > sets.floor('done') then
    return {'done', score, record, kept.history, '', kept.since, kept.worker, kept.size,
            kept.result}
  end
  return redis.call('EXISTS', RESULT) == 1 and {'done', '0', '', '', '', 0, '', 0, ''} or {}
end

local record = sets.read('any', id, cut)
if not record then
  return show_done()
end
local found = finding.job(id, record, cursor)
if found.cursor then
  return {found.cursor}
end
local history = redis.call('HGET', HISTORY, id) or ''
local since, worker = workers.claimant(found.state == 'active' and found.member, found.score)
local is_over = tonumber(found.score or 0) <= now
local attempts_left = jobs.read_history(history).failures < jobs.read(record).retries
if is_over and (found.state == 'delayed' or found.state == 'active' and attempts_left) then
  found.state = 'ready' -- the next claim makes it so
end
return {found.state, found.score or '0', record, history, redis.call('HGET', PROGRESS, id) or '',
        since, worker, redis.call('HSTRLEN', JOBS, id), ''}
