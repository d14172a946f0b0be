-- queue/cancel: take a job out of the queue, wherever it is.
-- KEYS[1...] queue  see keys.inc.lua
-- ARGV[1] id
-- ARGV[2] cursor    of the search among the active; 0 to begin with
-- ARGV[3] results   and the id: the channel on which the end of the job is published
-- flags: allow-oom
-- returns {TKL_OK}, {TKL_NOTFOUND}, or {TKL_EMPTY, the cursor to go on with}
-- include: shared/clock
-- include: finding
-- include: ends
-- include: line

now = clock.ms()
local id, cursor, results = unpack(ARGV)

local waiting, meta = line.read_waiting(), totals.read()
local record = redis.call('HGET', JOBS, id)
if not record then
  return {TKL_NOTFOUND}
end
local found = finding.job(id, record, cursor)
if found.cursor then
  return {TKL_EMPTY, found.cursor}
end
if found.key then
  redis.call('ZREM', found.key, found.member)
end
local started = found.state == 'active' or
                found.state ~= 'dead' and jobs.read_history(redis.call('HGET', HISTORY, id)).started
redis.call('HDEL', FLOW_PLACES, id)
ends.remove(id, record, started, ends.new_budget())
totals.add(meta, {bytes = -#record})
ends.publish(results, id, 'gone')
events.publish(meta, 'cancelled', {id})
line.wake(waiting, line.open_gate(meta))
return {TKL_OK}
