-- queue/drain: remove some of the jobs that wait.
-- KEYS[1...] queue  see keys.inc.lua
-- ARGV[1] skip      schedules seen so far among the delayed
-- ARGV[2] results   and an id: the channel on which the end of a job is published
-- flags: allow-oom
-- returns {removed, schedules seen, 1 when there may be more}
-- include: shared/clock
-- include: ends
-- include: line

now = clock.ms()
local STEP, BYTES = 200, 8000000 -- at most, in one script
local skip, results = unpack(ARGV)
skip = tonumber(skip)

local waiting, meta, budget = line.read_waiting(), totals.read(), ends.new_budget()
local removed, bytes, seen = 0, 0, 0

local function drain_job(id)
  local record = redis.call('HGET', JOBS, id)
  if record then
    local job = jobs.read(record)
    local started = jobs.read_history(redis.call('HGET', HISTORY, id)).started
    redis.call('HDEL', FLOW_PLACES, id)
    ends.remove(id, record, started, budget)
    removed, bytes = removed + 1, bytes + #record
    if job.result then
      ends.publish(results, id, 'gone')
    end
  end
end

-- Removes members of a key from a rank on, within the limits of this script.
local function drain_key(key, from, id_of)
  local members = seen < STEP and redis.call('ZRANGE', key, from, from + STEP - seen - 1) or {}
  for _, member in ipairs(members) do
    local id = bytes < BYTES and id_of(member)
    seen = seen + 1
    if id then
      redis.call('ZREM', key, member)
      drain_job(id)
    end
  end
end

local function itself(member)
  return member
end

-- The id of a delayed job, '' for a timer, nil for a schedule: schedules stay.
local function delayed_id(member)
  local kind, name = jobs.read_delayed(member)
  if kind == 'schedule' then
    skip = skip + 1
    return nil
  end
  return kind == 'job' and name or ''
end

-- Parents first: the end of their children would make them ready.
drain_key(FLOW, 0, itself)
drain_key(PARKED, 0, jobs.read_spot)
drain_key(READY, 0, itself)
drain_key(DELAYED, skip, delayed_id)
totals.add(meta, {bytes = -bytes})
line.wake(waiting, line.open_gate(meta))
return {removed, skip, seen > 0 and 1 or 0}
