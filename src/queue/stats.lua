-- queue/stats: how many jobs are where, and how long the oldest has been ready.
-- KEYS[1...] queue  see keys.inc.lua
-- returns {jobs, ready, active, dead, parked, held by a flow, waiting, schedules, oldest in
--   milliseconds, paused, pushed, done, failed, bytes}
-- include: shared/clock
local now = clock_ms()
-- include: soon
local REGIONS = 3 * (2 * PRIORITY_MAX + 1) -- of READY, at most
local LOOKED_AT = 20                       -- jobs of a region that are not as pushed

-- Since when a job that stands in READY is ready.
local function ready_since(id, score)
  local since = read_history(redis.call('HGET', HISTORY, id)).since
  local behind = tonumber(score) % LEVEL
  if behind >= DUE and behind < PUSHED then
    since = behind - DUE + YEAR_2020
  end
  return math.max(since or 0, pushed_at(id))
end

-- The first of each region is the oldest, unless some came back: then it is among the first ones.
local function oldest_ready()
  local oldest, from = now, '-inf'
  local count = redis.call('EXISTS', HISTORY) == 1 and LOOKED_AT or 1
  for _ = 1, REGIONS do
    local first = redis.call('ZRANGE', READY, from, '+inf', 'BYSCORE', 'LIMIT', 0, count,
                             'WITHSCORES')
    if not first[1] or math.abs(tonumber(first[2])) > (PRIORITY_MAX + 1) * LEVEL then
      break
    end
    local region_end = (math.floor(first[2] / DUE) + 1) * DUE
    for i = 1, #first, 2 do
      if tonumber(first[i + 1]) < region_end then
        oldest = math.min(oldest, ready_since(first[i], first[i + 1]))
      end
    end
    from = text(region_end)
  end
  return oldest
end

local meta = read_meta()
local due, ended, oldest = due_jobs(), ended_jobs(), oldest_ready()
for _, soon in ipairs({due, ended}) do
  for _, job in ipairs(soon) do
    oldest = math.min(oldest, job.since)
  end
end
-- More than were looked at are counted as they are, schedules and timers with them.
local due_count, ended_count = #due, #ended
if due_count == SOON then
  due_count = redis.call('ZCOUNT', DELAYED, '-inf', text(now))
end
if ended_count == SOON then
  ended_count = redis.call('ZCOUNT', ACTIVE, '-inf', text(now))
end
return {redis.call('HLEN', JOBS), redis.call('ZCARD', READY) + due_count + ended_count,
        redis.call('ZCARD', ACTIVE) - ended_count, redis.call('ZCARD', DEAD),
        redis.call('ZCARD', PARKED), redis.call('ZCARD', FLOW), redis.call('ZCARD', WAITERS),
        redis.call('HLEN', SCHEDULES), now - oldest, meta.paused and 1 or 0, meta.pushed or 0,
        meta.done or 0, meta.failed or 0, meta.bytes or 0}
