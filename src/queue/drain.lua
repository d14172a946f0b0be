-- queue/drain: remove some of the jobs that wait, or of the dead letters.
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
-- ARGV[1] which     dead, or '' for all that wait
-- ARGV[2] skip      schedules seen so far among the delayed
-- returns {removed, schedules seen, 1 when there may be more}
-- include: clock
local JOBS, READY, DELAYED, EXTRAS, DEAD = KEYS[2], KEYS[3], KEYS[4], KEYS[6], KEYS[8]
local UNIQUE, GROUPS, PARKED, FLOW = KEYS[9], KEYS[10], KEYS[11], KEYS[12]
local RESULT = string.sub(KEYS[1], 1, -2) .. 'o:' -- and an id: a channel of result.c
local soonest
local waiting = redis.call('ZCARD', KEYS[7])
-- include: sound
-- include: sound_claims
-- include: read
-- include: groups
-- include: flow
-- include: forget

-- So many that the records are not too large together.
local jobs, skip = redis.call('HLEN', JOBS), tonumber(ARGV[2])
local size = (redis.call('HGET', KEYS[1], 'bytes') or 0) / math.max(jobs, 1)
local step = math.max(1, math.min(200, math.floor(8000000 / (size + 1))))

local ids = {}
-- Takes those between two ranks; the id is at the end of a member that is longer.
local function take(key, from)
  local some = #ids < step and redis.call('ZRANGE', key, from, from + step - #ids - 1) or {}
  for _, member in ipairs(some) do
    local first = string.byte(member)
    if first == 64 then -- @schedule
      skip = skip + 1
    else
      redis.call('ZREM', key, member)
      ids[#ids + 1] = first ~= 61 and string.sub(member, -13) or nil -- =timer
    end
  end
end

if ARGV[1] == 'dead' then
  take(DEAD, 0)
else -- parents before their children, which would make them ready
  take(FLOW, 0)
  take(PARKED, 0)
  take(READY, 0)
  take(DELAYED, skip)
end
if #ids == 0 then
  return {0, skip, skip - ARGV[2]}
end
local bytes, counts = 0, nil
if ARGV[1] == 'dead' then -- they gave up their places in their groups
  counts = false
end
for i, record in ipairs(redis.call('HMGET', JOBS, unpack(ids))) do
  bytes = bytes + #(record or '')
  forget(ids[i], record or '', counts)
  if string.find(record or '', '^%l[^\n]* o') then -- somebody may wait for its result
    redis.pcall('SPUBLISH', RESULT .. ids[i], 'G')
  end
end
redis.call('HDEL', JOBS, unpack(ids))
redis.call('HINCRBY', KEYS[1], 'bytes', string.format('%d', -bytes))
if ARGV[1] == 'dead' and waiting > 0 then -- for those that are not held any more
  -- include: gate
  -- include: serve
  -- include: spend
  -- include: appoint
end
return {#ids, skip, 1}
