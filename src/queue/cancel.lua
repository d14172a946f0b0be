-- queue/cancel: take a job out of the queue, wherever it is.
-- KEYS[1] meta
-- KEYS[2] jobs
-- KEYS[3] ready
-- KEYS[4] delayed
-- KEYS[5] active
-- KEYS[6] extras
-- KEYS[7] waiters
-- KEYS[8] dead
-- KEYS[9] unique
-- KEYS[10] groups
-- KEYS[11] parked
-- KEYS[12] flow
-- ARGV[1] id
-- ARGV[2] cursor    of the search among the active; 0 to begin with
-- ARGV[3] channel   on which the end of this job is told
-- ARGV[4] which     dead: only if it is a dead letter; '' for any
-- returns 0, 4 (TKL_NOTFOUND), or the cursor to go on with, as text
-- include: clock
local META, JOBS, READY, DELAYED, ACTIVE = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local EXTRAS, DEAD, UNIQUE, GROUPS = KEYS[6], KEYS[8], KEYS[9], KEYS[10]
local PARKED, FLOW = KEYS[11], KEYS[12]
local soonest
local waiting = redis.call('ZCARD', KEYS[7])
-- include: sound
-- include: sound_claims
-- include: read
-- include: groups
-- include: flow
-- include: forget
-- include: find

local id = ARGV[1]
local record = redis.call('HGET', JOBS, id)
if not record or ARGV[4] == 'dead' and not redis.call('ZSCORE', DEAD, id) then
  return 4
end
local state, key, member = find(id, record, ARGV[2])
if cursor ~= '0' then
  return cursor
end
if key then
  redis.call('ZREM', key, member)
end
redis.call('HDEL', JOBS, id)
redis.call('HINCRBY', META, 'bytes', string.format('%d', -#record))
local counts = nil
if state == 4 or state == 6 then -- an active one has its place, a dead one has none
  counts = state == 4
end
forget(id, record, counts)
redis.pcall('SPUBLISH', ARGV[3], 'G')
if waiting > 0 then
  -- include: gate
  -- include: serve
  -- include: spend
  -- include: appoint
end
return 0
