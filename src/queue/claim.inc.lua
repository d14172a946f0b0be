-- Claiming: what becomes ready by the clock, and what may start.
-- include: ends
-- include: line

local AT_ONCE = 100         -- delayed jobs, or ended leases, that a claim sees to
local BYTES_AT_ONCE = 4194304 -- of their records, and of those that it takes
local LOOKED_AT = 300       -- jobs, where some have options: how many a claim looks at
local AGAIN_MS = 1000       -- a schedule that was not fired is due again after this
local GIVEN_MAX = 5000      -- leases among which a repeated claim is looked for
local RATES_TIDIED = 5      -- funnels of groups that are empty, forgotten with each job of a group

-- ---- What a token got before ----

-- The ids that a token got in a request, or by a hand-over, of which the caller never heard. Their
-- leases begin again: the caller counts from now.
local function given_to(token, lease)
  local ids = {}
  local newest = redis.call('ZRANGE', ACTIVE, text(now + lease), '(' .. text(now), 'BYSCORE', 'REV',
                            'LIMIT', 0, GIVEN_MAX)
  for _, claim in ipairs(newest) do
    if claim_token(claim) == token then
      ids[#ids + 1] = claimed_id(claim)
      redis.call('ZADD', ACTIVE, 'XX', text(now + lease), claim)
    end
  end
  table.sort(ids)
  return ids
end

-- ---- What is due ----

-- A delayed member whose time has come. Returns the bytes of its record.
local function promote_one(member, due, schedules, budget)
  local kind, name = read_delayed(member)
  if kind == 'schedule' then
    schedules[#schedules + 1] = name
    redis.call('ZADD', DELAYED, text(now + AGAIN_MS), member)
    return 0
  end
  redis.call('ZREM', DELAYED, member)
  if kind == 'group' then
    unpark(name)
  elseif kind == 'ended' then
    tell_parents(name, budget)
  end
  local record = kind == 'job' and redis.call('HGET', JOBS, name)
  if record then
    redis.call('ZADD', READY, place(priority_of(record), DUE, tonumber(due)), name)
  end
  return #(record or '')
end

-- What was delayed and is due becomes ready, before what was not delayed. Returns the schedules that
-- are due: the caller fires them.
local function promote(budget)
  local schedules, bytes = {}, 0
  local due = redis.call('ZRANGE', DELAYED, '-inf', text(now), 'BYSCORE', 'LIMIT', 0, AT_ONCE,
                         'WITHSCORES')
  for i = 1, #due, 2 do
    if bytes < BYTES_AT_ONCE then
      bytes = bytes + promote_one(due[i], due[i + 1], schedules, budget)
    end
  end
  return schedules
end

-- A job whose lease ended: to the front of the queue, or to the dead letters when that was its last
-- attempt.
local function take_back(id, record, meta, results, budget)
  local job, history = read(record), read_history(redis.call('HGET', HISTORY, id))
  history.failures = history.failures + 1
  history.since, history.started, history.problem = now, true, 'the worker was lost'
  if history.failures > job.retries then
    return move_to_dead(id, record, history, meta, results, budget)
  end
  write_history(id, history)
  redis.call('ZADD', READY, place(job.priority, BACK), id)
  return 0
end

-- Leases that ended: each counts as a failure.
local function reclaim(meta, results, budget)
  local failed, removed, bytes = 0, 0, 0
  local ended = redis.call('ZRANGE', ACTIVE, '-inf', text(now), 'BYSCORE', 'LIMIT', 0, AT_ONCE)
  for _, claim in ipairs(ended) do
    if bytes < BYTES_AT_ONCE then
      local id = claimed_id(claim)
      local record = redis.call('HGET', JOBS, id)
      redis.call('ZREM', ACTIVE, claim)
      if record then
        failed, bytes = failed + 1, bytes + #record
        removed = removed + take_back(id, record, meta, results, budget)
      end
    end
  end
  if failed > 0 then
    add_totals(meta, {failed = failed, bytes = -removed})
  end
end

-- ---- What may start ----

-- A funnel, as in open_gate(). When it is full, a timer brings the next job of the group back.
local function is_within_rate(group, rate, period)
  local full_at = tonumber(redis.call('ZSCORE', RATES, group) or 0)
  full_at = math.min(math.max(full_at, now), now + period) + period / rate
  if full_at - period > now then
    redis.call('ZADD', DELAYED, text(math.ceil(full_at - period)), 'group:' .. group)
    return false
  end
  local empty = redis.call('ZRANGE', RATES, '-inf', text(now), 'BYSCORE', 'LIMIT', 0, RATES_TIDIED)
  if empty[1] then
    redis.call('ZREM', RATES, unpack(empty))
  end
  redis.call('ZADD', RATES, string.format('%.3f', full_at), group)
  redis.call('PEXPIRE', RATES, text(period)) -- no funnel is full for longer
  unpark(group)
  return true
end

-- Whether the group of a job lets it start; it is parked otherwise. A job that was started before has
-- its place in the group.
local function enter_group(id, job, meta, history)
  local group, rate, period = job.group_name, meta.group_rate or 0, meta.group_rate_period or 0
  if group == '' or history.started then
    return true
  end
  local started = started_of(group)
  if started >= (meta.group_concurrency or math.huge)
     or rate > 0 and period > 0 and not is_within_rate(group, rate, period) then
    redis.call('ZADD', PARKED, 0, parking_spot(group, job.priority, id))
    redis.call('ZREM', READY, id)
    return false
  end
  redis.call('HSET', GROUPS, group, text(started + 1))
  return true
end

-- Whether a job may start now.
local function may_start(id, record, history, meta)
  if not record or not has_options(record) then
    return true
  end
  local job = read(record)
  if not enter_group(id, job, meta, read_history(history)) then
    return false
  end
  if job.until_started then
    free_unique(job.unique_key, id)
  end
  return true
end

-- ---- Taking ----

-- The records and the histories of jobs.
local function fetch(ids)
  if not ids[1] then
    return {}, {}
  end
  local histories = {}
  if redis.call('EXISTS', HISTORY) == 1 then
    histories = redis.call('HMGET', HISTORY, unpack(ids))
  end
  return redis.call('HMGET', JOBS, unpack(ids)), histories
end

-- The first ready ids: not more than their records may be large together.
local function first_ready(max, gate)
  local ids = redis.call('ZRANGE', READY, 0, max - 1)
  if not gate.large then
    return ids
  end
  local some, bytes = {}, 0
  for i, id in ipairs(ids) do
    if bytes < BYTES_AT_ONCE then
      some[i], bytes = id, bytes + redis.call('HSTRLEN', JOBS, id)
    end
  end
  return some
end

local function have_options(records)
  for i = 1, #records do
    if records[i] and has_options(records[i]) then
      return true
    end
  end
  return false
end

-- Of the first `count` jobs that are about to be taken, those that may start. The others are parked.
local function those_that_may_start(count, ids, records, histories, meta)
  local kept, kept_records, kept_histories = {}, {}, {}
  for i = 1, count do
    if may_start(ids[i], records[i], histories[i], meta) then
      local k = #kept + 1
      kept[k], kept_records[k], kept_histories[k] = ids[i], records[i], histories[i] or false
    end
  end
  return kept, kept_records, kept_histories
end

-- Takes the first ready jobs that may start, as ids, records and histories. Those whose group
-- must wait step aside, and those behind them are looked at; true when that took long enough, and
-- there may be more.
local function take(max, gate, meta)
  local aside = 0
  while max > 0 and aside < LOOKED_AT do
    local ids = first_ready(max, gate)
    if not ids[1] then
      break
    end
    local records, histories = fetch(ids)
    if not have_options(records) then
      redis.call('ZREMRANGEBYRANK', READY, 0, #ids - 1)
      return ids, records, histories, false
    end
    local count = math.min(#ids, LOOKED_AT - aside)
    local kept, kept_records, kept_histories =
        those_that_may_start(count, ids, records, histories, meta)
    if kept[1] then
      redis.call('ZREM', READY, unpack(kept))
      return kept, kept_records, kept_histories, false
    end
    aside = aside + count
  end
  return {}, {}, {}, aside >= LOOKED_AT
end

-- Claims jobs that were taken.
local function lease_jobs(ids, token, lease_ms)
  local lease_end, leases = text(now + lease_ms), {}
  for i, id in ipairs(ids) do
    leases[2 * i - 1], leases[2 * i] = lease_end, claim_of(id, token)
  end
  redis.call('ZADD', ACTIVE, unpack(leases))
end
