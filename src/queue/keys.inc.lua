-- The keys of a queue, in the order in which every script gets them; queue.c says more.
--   META           hash: totals, settings, limits
--   JOBS           hash: id, record
--   READY          zset of ids by their place: see jobs.inc.lua
--   DELAYED        zset by due time of ids, and of what else waits for a time: see read_delayed()
--   ACTIVE         zset of claims, "id:token", by the end of the lease
--   WAITERS        zset of waiters by arrival
--   LINE           hash: what the waiters know; also the channel that all of them listen to
--   HISTORY        hash: id, what happened to the job
--   PROGRESS       hash: id, progress
--   DEAD           zset of ids by time of death
--   UNIQUE         hash: unique key, the job that has it
--   UNIQUE_ENDS    zset of unique keys that are held for a time, by its end
--   GROUPS         hash: group, how many of its jobs are started and not over
--   PARKED         zset of jobs whose group does not let them start, by group, priority and id
--   RATES          zset of groups by the time until which their rate is used up
--   FLOW           zset of jobs that wait for others, by the number of those
--   FLOW_PLACES    hash: id, "priority due" of the same jobs
--   PARENTS        hash: id, ids of the jobs that wait for it
--   SCHEDULES      hash: id, schedule
--   REQUESTS_EVEN  hash: the answers to pushes, in a window of time
--   REQUESTS_ODD   the same of the next window, by turns
--   RESULT         string: the result of one job, for the scripts that are about one
-- include: shared/codes
-- include: shared/exact

local META, JOBS, READY, DELAYED, ACTIVE, WAITERS, LINE, HISTORY, PROGRESS, DEAD,
      UNIQUE, UNIQUE_ENDS, GROUPS, PARKED, RATES, FLOW, FLOW_PLACES, PARENTS, SCHEDULES,
      REQUESTS_EVEN, REQUESTS_ODD, RESULT = unpack(KEYS)

local function check_hashes(...)
  for _, key in ipairs({...}) do
    redis.call('HLEN', key)
  end
end

local function check_zsets(...)
  for _, key in ipairs({...}) do
    redis.call('ZCARD', key)
  end
end

-- What another program has put under a key ends the script before it writes anything. Most keys do
-- not exist most of the time.
local function check_keys()
  redis.call('HLEN', JOBS)
  redis.call('ZCARD', READY)
  redis.call('ZCARD', DELAYED)
  redis.call('ZCARD', ACTIVE)
  if redis.call('EXISTS', HISTORY, PROGRESS, DEAD, UNIQUE, UNIQUE_ENDS, GROUPS, PARKED,
                RATES, FLOW, FLOW_PLACES, PARENTS) > 0 then
    check_hashes(HISTORY, PROGRESS, UNIQUE, GROUPS, FLOW_PLACES, PARENTS)
    check_zsets(DEAD, UNIQUE_ENDS, PARKED, RATES, FLOW)
  end
end

-- A whole number as text, without an exponent.
local function text(number)
  return string.format('%.0f', number)
end

-- Fields of a hash as numbers, by name; nil for those that are not there. A field that is no number
-- ends the script.
local function numbers(key, ...)
  local names, values, found = {...}, redis.call('HMGET', key, ...), {}
  for i, name in ipairs(names) do
    local number = values[i] and tonumber(values[i])
    if values[i] and not (number and math.abs(number) <= EXACT) then
      error({err = 'DAMAGED the field ' .. name .. ' of ' .. key .. ' is not a number'})
    end
    found[name] = number or nil
  end
  return found
end

-- A full server refuses a script that begins with a write that needs memory. This write changes
-- nothing and needs none, so that what follows is allowed: claims and reports make room.
local function allow_when_full()
  redis.call('PEXPIRE', META, 1, 'GT')
end

-- META: totals, settings and limits as numbers, by name.
local function read_meta()
  return numbers(META, 'last', 'pushed', 'done', 'failed', 'bytes', 'large', 'paused', 'full_at',
                 'max_jobs', 'max_bytes', 'concurrency', 'rate', 'rate_period', 'group_concurrency',
                 'group_rate', 'group_rate_period', 'dead_max', 'dead_ms')
end

-- Adds to totals of META.
local function add_totals(meta, changes)
  local fields = {}
  for name, change in pairs(changes) do
    meta[name] = math.max((meta[name] or 0) + change, 0)
    fields[#fields + 1] = name
    fields[#fields + 1] = text(meta[name])
  end
  redis.call('HSET', META, unpack(fields))
end
