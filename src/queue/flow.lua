-- queue/flow: the jobs that a job waits for, those that wait for it, and so on.
-- KEYS[1...] queue  see keys.inc.lua
-- ARGV[1] id
-- ARGV[2] max       jobs in the answer, the nearest ones
-- flags: no-writes
-- returns {jobs of the flow that are not in the answer, id, state, kind, how many it waits for, the
--   ids of those in the answer that it waits for, ...} with five parts for each job, by id, so that
--   jobs stand behind those that they wait for; {} when there is no such job
-- include: shared/clock
-- include: shared/ranked
-- include: finding

now = clock.ms()
local AROUND, STEP = 1000, 100 -- ids looked up before and behind the job; in one command
local EDGES_MAX = 3000         -- waits that are read: more than those of one push
local ENDED_MAX = 200          -- claims whose leases have ended
local id, max = ARGV[1], tonumber(ARGV[2])

local children, parents = {}, {} -- by id: the jobs that a job waits for; the jobs that wait for it
local edges = 0

local function append(lists, key, value)
  local list = lists[key] or {}
  lists[key] = list
  list[#list + 1] = value
end

-- Reads which jobs wait for the jobs with the numbers `first` to `last`.
local function read_around(first, last)
  local ids, waited_for, waiting = {}, {}, {}
  for number = math.max(first, 0), last do
    ids[#ids + 1] = jobs.id_of_number(number)
  end
  for i, text in ipairs(ids[1] and redis.call('HMGET', PARENTS, unpack(ids)) or {}) do
    for parent in string.gmatch(text or '', '%x+') do
      if edges < EDGES_MAX then
        edges = edges + 1
        waited_for[#waited_for + 1] = ids[i]
        waiting[#waiting + 1] = parent
      end
    end
  end
  -- A job that was cancelled has no place in the flow any more.
  for i, place in ipairs(waiting[1] and redis.call('HMGET', FLOW_PLACES, unpack(waiting)) or {}) do
    if place then
      append(children, waiting[i], waited_for[i])
      append(parents, waited_for[i], waiting[i])
    end
  end
end

-- Reads the jobs around this one, the nearest first. Jobs that one request pushed have consecutive
-- ids, so the jobs that it waits for are among them.
local function read_edges()
  local number = tonumber(id, 16)
  for distance = 0, AROUND - STEP, STEP do
    if edges < EDGES_MAX then
      read_around(number - distance - STEP + 1, number - distance)
      read_around(number + distance + 1, number + distance + STEP)
    end
  end
end

-- All jobs that are connected with this one, the nearest first: at most two for each wait.
local function connected()
  local found, is_found = {id}, {[id] = true}
  local i = 1
  while found[i] do
    for _, lists in ipairs({children, parents}) do
      for _, next_id in ipairs(lists[found[i]] or {}) do
        if not is_found[next_id] then
          is_found[next_id] = true
          found[#found + 1] = next_id
        end
      end
    end
    i = i + 1
  end
  return found
end

-- The jobs whose leases have ended: the next claim makes them ready.
local function ended_claims()
  local ended = {}
  for _, claim in ipairs(ranked.up_to(ACTIVE, now, ENDED_MAX)) do
    ended[jobs.claimed_id(claim)] = true
  end
  return ended
end

-- The state of a job, and for how many others it waits.
local function state_of(job_id, record, ended)
  if children[job_id] then
    return 'held', redis.call('ZSCORE', FLOW, job_id)
  end
  local found = finding.resting(job_id, record)
  if not found then
    local failures = jobs.read_history(redis.call('HGET', HISTORY, job_id)).failures
    return ended[job_id] and failures < jobs.read(record).retries and 'ready' or 'active'
  elseif found.state == 'delayed' and tonumber(found.score) <= now then
    return 'ready'
  end
  return found.state, found.key == FLOW and found.score
end

if redis.call('HEXISTS', JOBS, id) == 0 then
  return {}
end
read_edges()
local nearest, ended = connected(), ended_claims()
local listed, is_listed = {}, {}
for i = 1, math.min(max, #nearest) do
  listed[i] = nearest[i]
  is_listed[nearest[i]] = true
end
table.sort(listed)
local answer = {#nearest - #listed}
for _, job_id in ipairs(listed) do
  local record = jobs.beginning(job_id, 0) or NO_OPTIONS
  local state, left = state_of(job_id, record, ended)
  local waited_for = {}
  for _, child in ipairs(children[job_id] or {}) do
    waited_for[#waited_for + 1] = is_listed[child] and child or nil
  end
  for _, part in ipairs({job_id, state, jobs.kind_of(record), left or 0,
                         table.concat(waited_for, ' ')}) do
    answer[#answer + 1] = part
  end
end
return answer
