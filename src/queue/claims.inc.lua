-- Claims: making due jobs ready, deciding which jobs may start, and giving them to a claim.
-- include: ends
-- include: line
-- include: times
-- include: shared/ranked

local claims = {}

local AT_ONCE = 100           -- delayed jobs, or ended leases, that a claim handles
local BYTES_AT_ONCE = 4194304 -- bytes of their records
local TAKEN_AT_ONCE = 524288  -- bytes of records after which a claim takes no more
local LOOKED_AT = 300         -- jobs that a claim checks, where some have options
local AGAIN_MS = 1000         -- a schedule that was not fired is due again after this
local GIVEN_MAX = 5000        -- leases among which a repeated claim searches for its jobs
local RATES_REMOVED = 5       -- empty funnels of groups to remove whenever a job of a group starts
local WORKER_LOST = 'the worker was lost'
local NO_ANSWER = 'a waiting worker did not answer'

-- ---- Jobs that a token got before ----

-- Finds the jobs that a token got by an earlier request or by a hand-over, without the caller
-- knowing. Returns their ids. Their leases begin again: the caller counts from now.
function claims.jobs_given_to(token, lease)
  local ids = {}
  local newest = redis.call('ZRANGE', ACTIVE, decimal.whole(now + lease),
                            '(' .. decimal.whole(now), 'BYSCORE', 'REV', 'LIMIT', 0, GIVEN_MAX)
  for _, claim in ipairs(newest) do
    if jobs.claim_token(claim) == token then
      ids[#ids + 1] = jobs.claimed_id(claim)
      redis.call('ZADD', ACTIVE, 'XX', decimal.whole(now + lease), claim)
    end
  end
  table.sort(ids)
  return ids
end

-- ---- The clock ----

-- Handles a member of DELAYED whose time has come. Returns the bytes of its record.
function claims.promote_due(member, due, schedules, budget)
  local kind, name = jobs.read_delayed(member)
  if kind == 'schedule' then
    schedules[#schedules + 1] = name
    redis.call('ZADD', DELAYED, decimal.whole(now + AGAIN_MS), member)
    return 0
  end
  redis.call('ZREM', DELAYED, member)
  if kind == 'group' then
    ends.unpark(name)
  elseif kind == 'ended' then
    ends.release_parents(name, budget)
  end
  local record = kind == 'job' and redis.call('HGET', JOBS, name)
  if record then
    jobs.note_due(name, tonumber(due))
    redis.call('ZADD', READY, jobs.score(jobs.priority_of(record), DUE, tonumber(due)), name)
  end
  return #(record or '')
end

-- Makes delayed jobs that are due ready, before jobs that were not delayed. Returns the schedules
-- that are due: the caller fires them.
function claims.promote_delayed(budget)
  local schedules, bytes = {}, 0
  local due = ranked.up_to(DELAYED, now, AT_ONCE, 'WITHSCORES')
  for i = 1, #due, 2 do
    if bytes < BYTES_AT_ONCE then
      bytes = bytes + claims.promote_due(due[i], due[i + 1], schedules, budget)
    end
  end
  return schedules
end

-- Puts a job whose lease ended at the front of the queue, or among the dead letters after its last
-- attempt. A worker that never renewed a hand-over has most likely not begun, so the first time is
-- no failure. The second time in a row is a failure: the job itself may make the workers hang.
-- Returns the failures counted, and the bytes of records that were removed.
function claims.take_back(id, record, unconfirmed, meta, results, budget)
  local job, history = jobs.read(record), jobs.read_history(redis.call('HGET', HISTORY, id))
  local failed = unconfirmed and history.problem ~= NO_ANSWER and 0 or 1
  history.failures, history.since = history.failures + failed, now
  if failed == 0 then
    history.problem = NO_ANSWER
  else
    times.count_lost(job.kind_name)
    history.started, history.problem = true, WORKER_LOST
  end
  local is_dead = history.failures > job.retries
  events.publish(meta, is_dead and 'dead' or failed == 0 and 'released' or 'failed', {id},
              history.problem)
  if is_dead then
    return failed, ends.move_to_dead(id, record, history, meta, results, budget)
  end
  jobs.write_history(id, history)
  redis.call('ZADD', READY, jobs.score(job.priority, BACK), id)
  return failed, 0
end

-- Takes back the jobs whose leases ended.
function claims.take_back_expired(meta, results, budget)
  local failed, removed, bytes = 0, 0, 0
  local ended = ranked.up_to(ACTIVE, now, AT_ONCE, 'WITHSCORES')
  for i = 1, #ended, 2 do
    if bytes < BYTES_AT_ONCE then
      local id = jobs.claimed_id(ended[i])
      local record = redis.call('HGET', JOBS, id)
      redis.call('ZREM', ACTIVE, ended[i])
      if record then
        local failures, gone =
            claims.take_back(id, record, jobs.is_unconfirmed(ended[i + 1]), meta, results, budget)
        failed, removed, bytes = failed + failures, removed + gone, bytes + #record
      end
    end
  end
  if failed > 0 then
    totals.add(meta, {failed = failed, bytes = -removed})
  end
end

-- ---- Groups ----

-- Counts one more start of a group. False when its rate does not allow that: then a timer brings
-- the next job of the group back. The rate is a funnel, as in line.open_gate().
function claims.use_rate(group, rate, period)
  local full_at = tonumber(redis.call('ZSCORE', RATES, group) or 0)
  full_at = math.min(math.max(full_at, now), now + period) + period / rate
  if full_at - period > now then
    redis.call('ZADD', DELAYED, decimal.whole(math.ceil(full_at - period)), 'group:' .. group)
    return false
  end
  local empty = ranked.up_to(RATES, now, RATES_REMOVED)
  if empty[1] then
    redis.call('ZREM', RATES, unpack(empty))
  end
  redis.call('ZADD', RATES, string.format('%.3f', full_at), group)
  redis.call('PEXPIRE', RATES, decimal.whole(period)) -- a funnel is never full for longer
  ends.unpark(group)
  return true
end

-- Whether the group of a job lets it start; otherwise parks the job. A job that was started before
-- still has its place in the group.
function claims.enter_group(id, job, meta, history)
  local group, rate, period = job.group_name, meta.group_rate or 0, meta.group_rate_period or 0
  if group == '' or history.started then
    return true
  end
  local started = ends.started_in(group)
  if started >= (meta.group_concurrency or math.huge)
     or rate > 0 and period > 0 and not claims.use_rate(group, rate, period) then
    redis.call('ZADD', PARKED, 0, jobs.parking_spot(group, job.priority, id))
    redis.call('ZREM', READY, id)
    return false
  end
  redis.call('HSET', GROUPS, group, decimal.whole(started + 1))
  return true
end

-- Whether a job may start now.
function claims.may_start(id, record, history, meta)
  if not record or not jobs.has_options(record) then
    return true
  end
  local job = jobs.read(record)
  if not claims.enter_group(id, job, meta, jobs.read_history(history)) then
    return false
  end
  if job.until_started then
    unique.free(job.unique_key, id)
  end
  return true
end

-- ---- Taking ----

-- Reads the records of the first ids, up to a number of bytes. Removes the other ids from the list.
function claims.first_records(ids)
  local records, bytes = {}, 0
  for first = 1, #ids, READ_AT_ONCE do
    if bytes >= TAKEN_AT_ONCE then
      for i = #ids, first, -1 do
        ids[i] = nil
      end
      break
    end
    local last = math.min(first + READ_AT_ONCE - 1, #ids)
    for i, record in ipairs(redis.call('HMGET', JOBS, unpack(ids, first, last))) do
      records[first + i - 1], bytes = record, bytes + #(record or '')
    end
  end
  return records
end

-- The histories of jobs.
function claims.histories_of(ids)
  return redis.call('EXISTS', HISTORY) == 1 and redis.call('HMGET', HISTORY, unpack(ids)) or {}
end

-- The records and the histories of jobs.
function claims.records_of(ids)
  if not ids[1] then
    return {}, {}
  end
  return redis.call('HMGET', JOBS, unpack(ids)), claims.histories_of(ids)
end

-- The first ready ids. If the queue has large records, the size of all of them is limited.
function claims.first_ready(max, gate)
  local ids = redis.call('ZRANGE', READY, 0, max - 1)
  if not gate.large then
    return ids
  end
  local some, bytes = {}, 0
  for i, id in ipairs(ids) do
    if bytes < TAKEN_AT_ONCE then
      some[i], bytes = id, bytes + redis.call('HSTRLEN', JOBS, id)
    end
  end
  return some
end

-- Whether one of the jobs has options.
function claims.have_options(records)
  for i = 1, #records do
    if records[i] and jobs.has_options(records[i]) then
      return true
    end
  end
  return false
end

-- The ids, records and histories of the jobs that may start, among the first `count`. The others
-- are parked.
function claims.startable(count, ids, records, histories, meta)
  local kept, kept_records, kept_histories = {}, {}, {}
  for i = 1, count do
    if claims.may_start(ids[i], records[i], histories[i], meta) then
      local k = #kept + 1
      kept[k], kept_records[k], kept_histories[k] = ids[i], records[i], histories[i] or false
    end
  end
  return kept, kept_records, kept_histories
end

-- Takes the first ready jobs that may start: returns their ids, records and histories. Parks jobs
-- whose groups are full, and goes on with the jobs behind them. The last result is true when it has
-- parked so many that it gives up: more jobs may be ready.
function claims.take_ready(max, gate, meta)
  local parked = 0
  while max > 0 and parked < LOOKED_AT do
    local ids = claims.first_ready(max, gate)
    if not ids[1] then
      break
    end
    local records = claims.first_records(ids)
    local histories = claims.histories_of(ids)
    if not claims.have_options(records) then
      redis.call('ZREMRANGEBYRANK', READY, 0, #ids - 1)
      return ids, records, histories, false
    end
    local count = math.min(#ids, LOOKED_AT - parked)
    local kept, kept_records, kept_histories =
        claims.startable(count, ids, records, histories, meta)
    if kept[1] then
      redis.call('ZREM', READY, unpack(kept))
      return kept, kept_records, kept_histories, false
    end
    parked = parked + count
  end
  return {}, {}, {}, parked >= LOOKED_AT
end

-- Gives the token a lease on jobs that were taken.
function claims.lease_jobs(ids, token, lease_ms)
  local lease_end, leases = decimal.whole(now + lease_ms), {}
  for i, id in ipairs(ids) do
    leases[2 * i - 1], leases[2 * i] = lease_end, jobs.claim_of(id, token)
  end
  redis.call('ZADD', ACTIVE, unpack(leases))
end
