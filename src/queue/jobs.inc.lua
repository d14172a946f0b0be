-- Jobs: their records, their histories, and their scores in the queue.
-- include: totals

local jobs = {}

local ID_LENGTH, ID_FORMAT = 13, '%013x'
local IDS_PER_MS = 1024
local NO_OPTIONS = '\n' -- first byte of a record without options
local OPTIONS_MAX = 512 -- bytes of the line with the options of a job
local LARGE = 65536 -- bytes: messages do not carry larger records
local HEAD = 4096   -- bytes of the payload that the head of a large record has
local READ_AT_ONCE = 16 -- records that are read together, where most are not large
local RETRIES, BACKOFF, BACKOFF_MAX = 10, 1000, 3600000
local PRIORITY_MAX = 1000

-- The scores in READY: each priority has a stretch of LEVEL, with three regions.
local LEVEL = 2 ^ 42
local BACK = 0        -- jobs that came back, before all others, by id
local DUE = 2 ^ 40    -- jobs that were delayed, by the time at which they were due, from 2020 on
local PUSHED = 2 ^ 41 -- jobs as they were pushed, by id
local YEAR_2020 = 1577836800000

-- ---- Records ----

-- Whether a job has options: its record then begins with a line that is not empty.
function jobs.has_options(record)
  return string.sub(record, 1, 1) ~= NO_OPTIONS
end

-- The record of a job; an empty one when the job is gone.
function jobs.record_of(id)
  return redis.call('HGET', JOBS, id) or NO_OPTIONS
end

-- The options of a job by name, with their defaults, its unique key, its group and its kind; '' for
-- none. Its payload begins at `payload_at`.
function jobs.read(record)
  local line = string.match(string.sub(record, 1, OPTIONS_MAX), '^[^\n]*')
  local job = {priority = 0, retries = RETRIES, backoff = BACKOFF, backoff_max = BACKOFF_MAX,
               unique = 0, group = 0, meta = 0, kind = 0}
  for name, value in string.gmatch(line, '([%l_]+)=(%-?%d+)') do
    job[name] = tonumber(value)
  end
  local keys = #line + 2
  job.priority = math.max(-PRIORITY_MAX, math.min(PRIORITY_MAX, job.priority))
  job.unique_key = string.sub(record, keys, keys + job.unique - 1)
  job.group_name = string.sub(record, keys + job.unique, keys + job.unique + job.group - 1)
  local kind = keys + job.unique + job.group + job.meta
  job.kind_name = string.sub(record, kind, kind + job.kind - 1)
  job.payload_at = kind + job.kind
  return job
end

function jobs.priority_of(record)
  return jobs.has_options(record) and jobs.read(record).priority or 0
end

-- The kind of a job; '' for none. Most records show at a glance that they have none.
function jobs.kind_of(record)
  if not record or not jobs.has_options(record) or
     not string.find(string.sub(record, 1, OPTIONS_MAX), 'kind=', 1, true) then
    return ''
  end
  return jobs.read(record).kind_name
end

-- ---- Heads ----

-- A record with only the first bytes of its payload.
function jobs.cut(record, bytes)
  return string.sub(record, 1, jobs.read(record).payload_at - 1 + bytes)
end

-- Stores the head of a record that is large: lists of jobs need not read the rest.
function jobs.keep_head(id, record)
  if #record > LARGE then
    redis.call('HSET', HEADS, id, jobs.cut(record, HEAD))
  end
end

-- The record of a job with only the first `bytes` of its payload, and how many bytes were read for
-- it. Nil when the job is gone.
function jobs.beginning(id, bytes)
  local record = bytes <= HEAD and redis.call('HGET', HEADS, id) or redis.call('HGET', JOBS, id)
  if record then
    return jobs.cut(record, bytes), #record
  end
end

-- ---- Histories ----

-- A history says what happened to a job since it was pushed: how often it failed, since when it is
-- ready, whether it was started before, and the last error.
function jobs.read_history(history)
  local failures, since, started, problem =
      string.match(history or '', '^(%d+) (%d+) ([01]) (.*)$')
  return {failures = tonumber(failures or 0), since = tonumber(since), started = started == '1',
          problem = problem or ''}
end

function jobs.write_history(id, history)
  redis.call('HSET', HISTORY, id,
             string.format('%d %.0f %d ', history.failures, history.since or now,
                           history.started and 1 or 0) .. history.problem)
end

-- Notes when a delayed job became ready, unless its history says so already.
function jobs.note_due(id, time)
  redis.call('HSETNX', HISTORY, id, string.format('0 %.0f 0 ', time))
end

-- ---- Ids and scores ----

-- Ids are numbers that grow with time: returns the first one of a given time.
function jobs.first_number_at(time)
  return time * IDS_PER_MS
end

function jobs.id_of_number(number)
  return string.format(ID_FORMAT, number)
end

-- The time at which a job was pushed.
function jobs.pushed_at(id)
  return math.floor((tonumber(id, 16) or 0) / IDS_PER_MS)
end

-- A claimed job in ACTIVE: "id:token".
function jobs.claim_of(id, token)
  return id .. ':' .. token
end

function jobs.claimed_id(claim)
  return string.match(claim, '^[^:]*')
end

function jobs.claim_token(claim)
  return string.match(claim, ':(.*)$')
end

-- The end of the lease of an unconfirmed hand-over: half a millisecond before a whole one. The
-- fraction marks the hand-over until its receiver renews it.
function jobs.unconfirmed_end(time)
  return string.format('%.1f', time - 0.5)
end

function jobs.is_unconfirmed(lease_end)
  return tonumber(lease_end) % 1 ~= 0
end

-- The score of a job in READY. `due`: when the job was due, only for the region DUE.
function jobs.score(priority, region, due)
  local behind = due and math.max(0, math.min(due - YEAR_2020, DUE - 1)) or 0
  return decimal.whole(priority * LEVEL + region + behind)
end

-- Makes a job ready as if it were pushed now. Among pushed jobs its id decides its place.
function jobs.make_ready(id, priority)
  jobs.write_history(id, {failures = 0, since = now, started = false, problem = ''})
  redis.call('ZADD', READY, jobs.score(priority, PUSHED), id)
end

-- The kind and the name of a member of DELAYED: the id of a job, or "kind:name" of a schedule, of
-- the timer of a group's rate, or of a job that ended and whose parents are not released yet.
function jobs.read_delayed(member)
  local kind, name = string.match(member, '^(%l+):(.*)$')
  return kind or 'job', name or member
end

-- The prefix of a group's members in PARKED. The length separates groups whose names begin alike.
function jobs.parking_prefix(group)
  return string.format('%04d ', #group) .. group
end

-- A job in PARKED: "length group priority id", sorted by group, by priority and by id.
function jobs.parking_spot(group, priority, id)
  return jobs.parking_prefix(group) .. string.format(' %04d ', priority + PRIORITY_MAX) .. id
end

-- The id and the priority of a parked job.
function jobs.read_spot(spot)
  local priority, id = string.match(spot, ' (%d+) (%x+)$')
  return id or '', (tonumber(priority) or PRIORITY_MAX) - PRIORITY_MAX
end
