-- The keys of a queue, in the order in which every script gets them; queue.c says more.
-- include: shared/codes
-- include: shared/exact

local META          = KEYS[1]  -- hash: totals, settings, limits
local JOBS          = KEYS[2]  -- hash: id, record
local READY         = KEYS[3]  -- zset of ids by their place: see jobs.inc.lua
local DELAYED       = KEYS[4]  -- zset of ids, and of what else waits for a time: see read_delayed()
local ACTIVE        = KEYS[5]  -- zset of claims, "id:token", by the end of the lease
local WAITERS       = KEYS[6]  -- zset of waiters by arrival
local LINE          = KEYS[7]  -- hash: what the waiters know; also the channel of all of them
local HISTORY       = KEYS[8]  -- hash: id, what happened to the job
local PROGRESS      = KEYS[9]  -- hash: id, progress
local DEAD          = KEYS[10] -- zset of ids by time of death
local UNIQUE        = KEYS[11] -- hash: unique key, the job that has it
local UNIQUE_ENDS   = KEYS[12] -- zset of unique keys that are held for a time, by its end
local GROUPS        = KEYS[13] -- hash: group, how many of its jobs are started and not over
local PARKED        = KEYS[14] -- zset of jobs that their groups hold back, by group, priority, id
local RATES         = KEYS[15] -- zset of groups by the time until which their rate is used up
local FLOW          = KEYS[16] -- zset of jobs that wait for others, by the number of those
local FLOW_PLACES   = KEYS[17] -- hash: id, "priority due" of the same jobs
local PARENTS       = KEYS[18] -- hash: id, ids of the jobs that wait for it
local SCHEDULES     = KEYS[19] -- hash: id, schedule
local REQUESTS_EVEN = KEYS[20] -- hash: the answers to pushes, in a window of time
local REQUESTS_ODD  = KEYS[21] -- the same of the next window, by turns
local RESULT        = KEYS[22] -- string: the result of one job, for the scripts that are about one

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
