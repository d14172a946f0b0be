-- queue/edit: give a job that waits, or a dead letter, another payload.
-- KEYS[1...] queue  see keys.inc.lua
-- ARGV[1] id
-- ARGV[2] payload
-- returns TKL_OK; TKL_NOTFOUND; TKL_BUSY when a worker has the job; TKL_FULL when a larger payload
--   does not fit into the queue
-- include: shared/clock
-- include: events
-- include: finding

now = clock.ms()
local id, payload = unpack(ARGV)

totals.check_keys()
local meta, record = totals.read(), redis.call('HGET', JOBS, id)
if not record then
  return TKL_NOTFOUND
end
if not finding.resting(id, record) then
  return TKL_BUSY
end
local edited = string.sub(record, 1, jobs.read(record).payload_at - 1) .. payload
local growth = #edited - #record
if growth > 0 and meta.max_bytes and (meta.bytes or 0) + growth > meta.max_bytes then
  return TKL_FULL
end
redis.call('HSET', JOBS, id, edited)
redis.call('HDEL', HEADS, id)
jobs.keep_head(id, edited)
totals.add(meta, {bytes = growth})
if #edited > LARGE then
  redis.call('HSET', META, 'large', 1)
end
events.publish(meta, 'edited', {id})
return TKL_OK
