-- Jobs: their records, what happened to them, and their places in the queue.
-- include: keys

local ID_LENGTH, ID_FORMAT = 13, '%013x'
local IDS_PER_MS = 1024
local NO_OPTIONS = '\n' -- how a record begins that has none
local OPTIONS_MAX = 512 -- bytes of the line with the options of a job
local LARGE = 65536 -- bytes: a larger record is not sent along with a message
local RETRIES, BACKOFF, BACKOFF_MAX = 10, 1000, 3600000
local PRIORITY_MAX = 1000

-- The scores in READY: each priority has a stretch of LEVEL, with three regions.
local LEVEL = 2 ^ 42
local BACK = 0              -- came back, before all others; first in, first out by id
local DUE = 2 ^ 40          -- was delayed: by the time at which it was due, counted from ...
local YEAR_2020 = 1577836800000
local PUSHED = 2 ^ 41       -- as pushed; first in, first out by id

-- ---- Records ----

-- Whether a job has options: its record begins with a line that is not empty.
local function has_options(record)
  return string.sub(record, 1, 1) ~= NO_OPTIONS
end

-- The record of a job; one that is gone counts as empty.
local function record_of(id)
  return redis.call('HGET', JOBS, id) or NO_OPTIONS
end

-- The options of a job by name, defaults filled in, and its unique key and group; '' for none.
local function read(record)
  local line = string.match(string.sub(record, 1, OPTIONS_MAX), '^[^\n]*')
  local job = {priority = 0, retries = RETRIES, backoff = BACKOFF, backoff_max = BACKOFF_MAX,
               unique = 0, group = 0}
  for name, value in string.gmatch(line, '([%l_]+)=(%-?%d+)') do
    job[name] = tonumber(value)
  end
  local keys = #line + 2
  job.priority = math.max(-PRIORITY_MAX, math.min(PRIORITY_MAX, job.priority))
  job.unique_key = string.sub(record, keys, keys + job.unique - 1)
  job.group_name = string.sub(record, keys + job.unique, keys + job.unique + job.group - 1)
  return job
end

local function priority_of(record)
  return has_options(record) and read(record).priority or 0
end

-- ---- Histories ----

-- What happened to a job that is not as it was pushed: how often it failed, since when it is ready,
-- whether it was started before, and the last error.
local function read_history(history)
  local failures, since, started, problem =
      string.match(history or '', '^(%d+) (%d+) ([01]) (.*)$')
  return {failures = tonumber(failures or 0), since = tonumber(since), started = started == '1',
          problem = problem or ''}
end

local function write_history(id, history)
  redis.call('HSET', HISTORY, id,
             string.format('%d %.0f %d ', history.failures, history.since or now,
                           history.started and 1 or 0) .. history.problem)
end

-- ---- Ids and places ----

-- Ids are numbers, the first that may be given at a time being that of its milliseconds.
local function first_number_at(time)
  return time * IDS_PER_MS
end

local function id_of_number(number)
  return string.format(ID_FORMAT, number)
end

-- When a job was pushed.
local function pushed_at(id)
  return math.floor((tonumber(id, 16) or 0) / IDS_PER_MS)
end

-- A claimed job in ACTIVE: "id:token".
local function claim_of(id, token)
  return id .. ':' .. token
end

local function claimed_id(claim)
  return string.match(claim, '^[^:]*')
end

local function claim_token(claim)
  return string.match(claim, ':(.*)$')
end

-- The place of a job in READY. `due`: when it was due, in the region DUE.
local function place(priority, region, due)
  local behind = due and math.max(0, math.min(due - YEAR_2020, DUE - 1)) or 0
  return text(priority * LEVEL + region + behind)
end

-- A job that was not started becomes ready, as if it were pushed now; its place is that of its id.
local function make_ready(id, priority)
  write_history(id, {failures = 0, since = now, started = false, problem = ''})
  redis.call('ZADD', READY, place(priority, PUSHED), id)
end

-- What stands in DELAYED besides ids: "kind:name". A schedule, the timer of a group's rate, or a job
-- that ended and whose parents are still to be told.
local function read_delayed(member)
  local kind, name = string.match(member, '^(%l+):(.*)$')
  return kind or 'job', name or member
end

-- A job in PARKED: "length group priority id", sorted by group, by priority and by id. The length
-- keeps a group apart from others that begin like it.
local function parking_spot(group, priority, id)
  return string.format('%04d ', #group) .. group ..
         string.format(' %04d ', priority + PRIORITY_MAX) .. id
end

-- The id and the priority of a parked job.
local function read_spot(spot)
  local priority, id = string.match(spot, ' (%d+) (%x+)$')
  return id or '', (tonumber(priority) or PRIORITY_MAX) - PRIORITY_MAX
end
