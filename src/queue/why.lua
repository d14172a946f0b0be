-- queue/why: why a job does not run.
-- KEYS[1...] queue  see keys.inc.lua
-- ARGV[1] id        '' for the job that should come next
-- ARGV[2] cursor    of the search among the active; 0 to begin with
-- flags: no-writes
-- returns {id, state, cause, used, limit, time, text, ...} with five parts for each cause, the
--   decisive one first; {} when there is no such job; {cursor to go on with}
-- include: shared/clock
-- include: ends
-- include: finding
-- include: line
-- include: upcoming
-- include: workers

now = clock.ms()
local ROWS_MAX = 100              -- rows of WORKERS that are counted
local WAITERS_CHECKED = 8         -- waiters that are looked at: one of them must listen
local SEEN = 100                  -- members of DELAYED, among which the first job is searched
local BEFORE = 1000               -- jobs pushed before it, among which are those that it waits for
local STEP = 20                   -- jobs before it that are looked up at once
local NAMED = 5                   -- jobs that it waits for, in the answer
local id, cursor = unpack(ARGV)

local meta, answer = totals.read(), {}

local function add(cause, used, limit, time, text)
  for _, part in ipairs({cause, used or 0, limit or 0, math.ceil(time or 0), text or ''}) do
    answer[#answer + 1] = part
  end
end

-- The first job that is ready, or that the next claim makes ready.
local function next_ready()
  local first, score = unpack(redis.call('ZRANGE', READY, 0, 0, 'WITHSCORES'))
  local soon = upcoming.ready()[1]
  score = tonumber(score)
  if soon and (not first or soon.score < score or soon.score == score and soon.id < first) then
    return soon.id
  end
  return first
end

-- The job that should come next: the first that is ready, held by its group, held by a flow, or
-- delayed. Nil: none waits.
local function next_job()
  local spot, flow = redis.call('ZRANGE', PARKED, 0, 0)[1], redis.call('ZRANGE', FLOW, 0, 0)[1]
  local ready = next_ready()
  if ready or spot or flow then
    return ready or spot and jobs.read_spot(spot) or flow
  end
  for _, member in ipairs(redis.call('ZRANGE', DELAYED, 0, SEEN - 1)) do
    local kind, name = jobs.read_delayed(member)
    if kind == 'job' then
      return name
    end
  end
end

-- ---- Limits of jobs that are ready ----

-- How many jobs are claimed. The next claim takes back those whose leases have ended.
local function running()
  return redis.call('ZCOUNT', ACTIVE, '(' .. decimal.whole(now), '+inf')
end

local function a_worker_waits()
  for _, place in ipairs(redis.call('ZRANGE', WAITERS, 0, WAITERS_CHECKED - 1)) do
    local waiter = line.read_place(place)
    if waiter and waiters.is_here(waiter) ~= false then
      return true
    end
  end
  return false
end

-- How many workers were heard of within their leases, and how many threads they have.
local function count_workers()
  local count, threads = 0, 0
  local rows = redis.call('HLEN', WORKERS) <= ROWS_MAX and redis.call('HGETALL', WORKERS) or {}
  for i = 2, #rows, 2 do
    local worker = workers.read(rows[i])
    if worker and worker.seen + worker.lease > now then
      count = count + 1
      threads = threads + (tonumber(string.match(worker.text, '^%d+')) or 0)
    end
  end
  return count, threads
end

local function add_workers()
  local active = running()
  local count, threads = count_workers()
  if a_worker_waits() then
    return
  elseif count == 0 and active == 0 then
    add('no worker')
  else
    add('busy', active, threads, 0, decimal.whole(count))
  end
end

local function add_gate()
  local active = running()
  local gate = line.open_gate(meta)
  if meta.paused then
    add('paused')
  elseif meta.concurrency and active >= meta.concurrency then
    add('concurrency', active, meta.concurrency)
  elseif gate.step and gate.room < 1 then
    add('rate', meta.rate_period, meta.rate, gate.full_at + gate.step - gate.period)
  end
end

-- ---- Causes of one job ----

local function add_group(job)
  local group = job.group_name
  local started = ends.started_in(group)
  local timer = redis.call('ZSCORE', DELAYED, 'group:' .. group)
  if started >= (meta.group_concurrency or math.huge) then
    add('group concurrency', started, meta.group_concurrency, 0, group)
  else
    add('group rate', meta.group_rate_period, meta.group_rate, timer, group)
  end
end

-- Names some of the jobs that a job waits for. Jobs of its own push have ids shortly before it.
local function add_flow(left)
  local number, named = tonumber(id, 16), 0
  for first = 1, BEFORE, STEP do
    local ids = {}
    for i = first, first + STEP - 1 do
      ids[#ids + 1] = jobs.id_of_number(math.max(number - i, 0))
    end
    for i, parents in ipairs(redis.call('HMGET', PARENTS, unpack(ids))) do
      if parents and named < NAMED and string.find(parents, id .. ' ', 1, true) then
        add(redis.call('ZSCORE', DEAD, ids[i]) and 'flow dead' or 'flow', left, 0, 0, ids[i])
        named = named + 1
      end
    end
    if named >= math.min(left, NAMED) then
      return
    end
  end
  if named == 0 then
    add('flow', left)
  end
end

id = id ~= '' and id or next_job() or ''
local record = jobs.beginning(id, 0)
if not record then
  return {}
end
local found = finding.job(id, record, cursor)
if found.cursor then
  return {found.cursor}
end
local score = tonumber(found.score or 0)
local history = jobs.read_history(redis.call('HGET', HISTORY, id))
local job = jobs.read(record)
local ready_score = found.state == 'ready' and score
if score <= now and found.state == 'delayed' then -- the next claim makes it ready
  ready_score = jobs.score(job.priority, DUE, score)
elseif score <= now and found.state == 'active' and history.failures < job.retries then
  ready_score = jobs.score(job.priority, BACK)
end
if ready_score then
  found.state = 'ready'
end
if found.state == 'ready' then
  local rank = redis.call('ZRANK', READY, id) or
               redis.call('ZCOUNT', READY, '-inf', '(' .. ready_score)
  add_gate()
  add_workers()
  if rank > 0 then
    add('behind', rank)
  end
elseif found.state == 'delayed' then
  add(history.failures > 0 and 'retry' or 'delayed', history.failures, 0, score, history.problem)
elseif found.key == PARKED then
  add_group(job)
elseif found.state == 'held' then
  add_flow(score)
elseif found.state == 'active' then
  local since, worker = workers.claimant(found.member, found.score)
  add('runs', 0, 0, since, worker)
elseif found.state == 'dead' then
  add('dead', history.failures, 0, score, history.problem)
end
return {id, found.state, unpack(answer)}
