-- queue/stats: how many jobs are in each state, and how long the oldest has been ready.
-- KEYS[1...] queue  see keys.inc.lua
-- flags: no-writes
-- returns {jobs, ready, active, dead, parked, held by a flow, waiting, schedules, oldest in
--   milliseconds, paused, pushed, done, failed, bytes, kept, whether there is a queue}
-- include: shared/clock
-- include: keeping
-- include: upcoming

now = clock.ms()
local REGIONS = 3 * (2 * PRIORITY_MAX + 1) -- regions of READY, at most
local LOOKED_AT = 20                       -- jobs checked in a region when some came back

-- The time since which a job in READY is ready.
local function ready_since(id, score)
  local since = jobs.read_history(redis.call('HGET', HISTORY, id)).since
  local behind = tonumber(score) % LEVEL
  if behind >= DUE and behind < PUSHED then
    since = behind - DUE + YEAR_2020
  end
  return math.max(since or 0, jobs.pushed_at(id))
end

-- The time since which the oldest job is ready. In each region of READY the first job is the
-- oldest; where some came back, the oldest is among the first ones.
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
    from = decimal.whole(region_end)
  end
  return oldest
end

local meta = totals.read()
local due, ended, oldest = upcoming.due(), upcoming.ended(), oldest_ready()
for _, soon in ipairs({due, ended}) do
  for _, job in ipairs(soon) do
    oldest = math.min(oldest, job.since)
  end
end
-- When there are more than `upcoming` reads, counts all members, schedules and timers included.
local due_count, ended_count = #due, #ended
if due_count == SOON then
  due_count = redis.call('ZCOUNT', DELAYED, '-inf', decimal.whole(now))
end
if ended_count == SOON then
  ended_count = redis.call('ZCOUNT', ACTIVE, '-inf', decimal.whole(now))
end
local kept = 0
if meta.keep_ms then
  kept = redis.call('ZCOUNT', DONE, '(' .. keeping.forgotten_until(meta.keep_ms), '+inf')
end
return {redis.call('HLEN', JOBS), redis.call('ZCARD', READY) + due_count + ended_count,
        redis.call('ZCARD', ACTIVE) - ended_count, redis.call('ZCARD', DEAD),
        redis.call('ZCARD', PARKED), redis.call('ZCARD', FLOW), redis.call('ZCARD', WAITERS),
        redis.call('HLEN', SCHEDULES), now - oldest, meta.paused and 1 or 0, meta.pushed or 0,
        meta.done or 0, meta.failed or 0, meta.bytes or 0, kept,
        redis.call('EXISTS', META, WAITERS, SCHEDULES)}
