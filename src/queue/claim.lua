-- queue/claim: report what was done, and claim what is ready; when nothing is, wait in line.
-- KEYS[1] meta      hash; see queue.c for all of them
-- KEYS[2] jobs      hash
-- KEYS[3] ready     zset
-- KEYS[4] delayed   zset
-- KEYS[5] active    zset
-- KEYS[6] extras    hash
-- KEYS[7] waiters   zset
-- KEYS[8] dead      zset
-- KEYS[9] unique    hash
-- KEYS[10] groups   hash
-- KEYS[11] parked   zset
-- KEYS[12] flow     zset
-- KEYS[13] rates    zset
-- ARGV[1] token     of this claim: 16 characters
-- ARGV[2] lease     milliseconds
-- ARGV[3] max       jobs to claim; 0 to report only
-- ARGV[4] channel   where this waiter listens; '' not to wait
-- ARGV[5] again     1: the token may wait, or have got something, already
-- ARGV[6] bytes     of the records of the jobs that were done
-- ARGV[7...] done   runs of them: how many ("r" before: rich ones, which come first), then id .. token
--   of each
-- returns {now, milliseconds until it should look (-1: no need), its rank among those who look, the
--   stale of those done, schedules to fire, rich jobs to bury, ids, records, extras}
-- include: clock

local max = tonumber(ARGV[3])
local stale, fire, lost, ids, records, extras = {}, {}, {}, {}, {}, {}
local look_in, rank, soonest = -1, 0, nil
local READY, DELAYED, EXTRAS, UNIQUE = KEYS[3], KEYS[4], KEYS[6], KEYS[9]
local GROUPS, PARKED, FLOW, RATES = KEYS[10], KEYS[11], KEYS[12], KEYS[13]
redis.call('PEXPIRE', KEYS[1], 1, 'GT') -- changes nothing, but lets a full server take what follows
if ARGV[7] then
  -- include: done
  if rich[1] then
    -- include: read
    -- include: groups
    -- include: flow
    -- include: ends
  end
  -- include: gone
end

local me = ARGV[1] .. ' ' .. ARGV[2] .. ' ' .. ARGV[4]
local waits = ARGV[5] ~= '' and redis.call('ZSCORE', KEYS[7], me)
if ARGV[5] ~= '' and not waits then
  -- include: given
  -- include: records
end

if not ids[1] then
  local first = redis.call('ZRANGE', KEYS[4], 0, 0, 'WITHSCORES')[2]
  if first and tonumber(first) <= now then
    local timers = {}
    -- include: promote
    if timers[1] then
      -- include: groups
      for _, group in ipairs(timers) do
        redis.call('ZREM', DELAYED, '=' .. group)
        unpark(group)
      end
    end
  end
  first = redis.call('ZRANGE', KEYS[5], 0, 0, 'WITHSCORES')[2]
  if first and tonumber(first) <= now then
    -- include: flow
    -- include: bury
    -- include: reclaim
  end
  -- include: gate
  local aside, more, starts = 0, false, false
  repeat
    more, starts = false, false
    -- include: take
    if starts then
      -- include: read
      -- include: groups
      -- include: rate
      -- include: start
    end
  until not more
  -- include: lease
  if waiting > 0 then
    -- include: first
    soonest = (ids[1] or ARGV[4] == '') and till -- one who stays looks itself
    -- include: serve
    -- include: appoint
  end
  -- include: spend
  if not ids[1] and ARGV[4] ~= '' then
    -- include: first
    -- include: line
  end
end
return {now, look_in, rank, stale, fire, lost, ids, records, extras}
