-- queue/requeue: put a claimed job back to the front of the queue; its token is not valid any more.
-- KEYS[1...] queue  see keys.inc.lua
-- ARGV[1] id
-- ARGV[2] cursor    of the search among the active; 0 to begin with
-- ARGV[3] force     1: although its lease runs; ''
-- flags: allow-oom
-- returns {TKL_OK}, {TKL_NOTFOUND} when the job is not claimed, {TKL_BUSY} when its lease runs, or
--   {TKL_EMPTY, the cursor to go on with}
-- include: shared/clock
-- include: events
-- include: finding
-- include: line

now = clock.ms()
local id, cursor, force = unpack(ARGV)

local waiting, meta = line.read_waiting(), totals.read()
local record = redis.call('HGET', JOBS, id)
if not record then
  return {TKL_NOTFOUND}
end
local found = finding.job(id, record, cursor)
if found.cursor then
  return {TKL_EMPTY, found.cursor}
elseif found.state ~= 'active' then
  return {TKL_NOTFOUND}
elseif force == '' and tonumber(found.score) > now then
  return {TKL_BUSY}
end
local history = jobs.read_history(redis.call('HGET', HISTORY, id))
history.since, history.started = now, true
redis.call('ZREM', ACTIVE, found.member)
jobs.write_history(id, history)
redis.call('ZADD', READY, jobs.score(jobs.priority_of(record), BACK), id)
events.publish(meta, 'released', {id}, 'requeued')
line.wake(waiting, line.open_gate(meta))
return {TKL_OK}
