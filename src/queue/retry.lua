-- queue/retry: dead letters back to the queue.
-- KEYS[1...] queue  see keys.inc.lua
-- ARGV[1] id        '' for all
-- ARGV[2] before    only those that died until this time; '' for now
-- returns {retried, before}
-- include: shared/clock
local now = clock_ms()
-- include: unique
-- include: line
local STEP = 100
local one, before = unpack(ARGV)

local waiting, meta = check_waiting(), read_meta()
before = before ~= '' and before or text(now)
local ids = {}
if one == '' then
  ids = redis.call('ZRANGE', DEAD, '-inf', before, 'BYSCORE', 'LIMIT', 0, STEP)
elseif redis.call('ZSCORE', DEAD, one) then
  ids = {one}
end
allow_when_full()
for _, id in ipairs(ids) do
  local job = read(record_of(id))
  redis.call('ZREM', DEAD, id)
  make_ready(id, job.priority)
  if job.unique > 0 and not job.unique_ms and not holder_of(job.unique_key) then
    hold_unique(job, id)
  end
end
let_unique_expire()
wake(waiting, open_gate(meta))
return {#ids, before}
