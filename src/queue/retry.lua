-- queue/retry: dead letters back to the queue.
-- KEYS[1...] queue  see keys.inc.lua
-- ARGV[1] id        '' for all
-- ARGV[2] before    only those that died until this time; '' for now
-- flags: allow-oom
-- returns {retried, before}
-- include: shared/clock
-- include: unique
-- include: line

now = clock.ms()
local STEP = 100
local one, before = unpack(ARGV)

local waiting, meta = line.read_waiting(), totals.read()
before = before ~= '' and before or decimal.whole(now)
local ids = {}
if one == '' then
  ids = ranked.up_to(DEAD, before, STEP)
elseif redis.call('ZSCORE', DEAD, one) then
  ids = {one}
end
for _, id in ipairs(ids) do
  local job = jobs.read(jobs.record_of(id))
  redis.call('ZREM', DEAD, id)
  jobs.make_ready(id, job.priority)
  if job.unique > 0 and not job.unique_ms and not unique.holder_of(job.unique_key) then
    unique.hold(job, id)
  end
end
unique.let_expire()
events.tell(meta, 'retried', ids)
line.wake(waiting, line.open_gate(meta))
return {#ids, before}
