-- queue/cancel: take a job out of the queue, wherever it is.
-- KEYS[1...] queue  see keys.inc.lua
-- ARGV[1] id
-- ARGV[2] cursor    of the search among the active; 0 to begin with
-- ARGV[3] which     dead: only if it is a dead letter; '' for any
-- ARGV[4] results   and the id: the channel on which the end of the job is published
-- returns {TKL_OK}, {TKL_NOTFOUND}, or {TKL_EMPTY, the cursor to go on with}
-- include: shared/clock
local now = clock_ms()
-- include: find
-- include: ends
-- include: line
local id, cursor, which, results = unpack(ARGV)

local waiting, meta = check_waiting(), read_meta()
local record = redis.call('HGET', JOBS, id)
if not record or which == 'dead' and not redis.call('ZSCORE', DEAD, id) then
  return {TKL_NOTFOUND}
end
local found = find(id, record, cursor)
if found.cursor then
  return {TKL_EMPTY, found.cursor}
end
if found.key then
  redis.call('ZREM', found.key, found.member)
end
local started = found.state == 'active' or
                found.state ~= 'dead' and read_history(redis.call('HGET', HISTORY, id)).started
redis.call('HDEL', FLOW_PLACES, id)
remove(id, record, started, new_budget())
add_totals(meta, {bytes = -#record})
tell_end(results, id, 'gone')
wake(waiting, open_gate(meta))
return {TKL_OK}
