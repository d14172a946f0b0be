-- queue/promote: make a delayed job ready now.
-- KEYS[1...] queue  see keys.inc.lua
-- ARGV[1] id
-- flags: allow-oom
-- returns TKL_OK, or TKL_NOTFOUND when the job is not delayed
-- include: shared/clock
-- include: line

now = clock.ms()
local id = ARGV[1]

local waiting, meta = line.read_waiting(), totals.read()
local record = redis.call('HGET', JOBS, id)
if not record or redis.call('ZREM', DELAYED, id) == 0 then
  return TKL_NOTFOUND
end
jobs.note_due(id, now)
redis.call('ZADD', READY, jobs.score(jobs.priority_of(record), DUE, now), id)
events.publish(meta, 'promoted', {id})
line.wake(waiting, line.open_gate(meta))
return TKL_OK
