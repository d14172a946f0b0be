-- The ends of jobs: what they leave to their group, to their unique key and to their parents.
-- include: unique

local DEAD_MAX, DEAD_MS = 10000, 2592000000 -- kept unless other limits are set: 30 days
local TRIMMED = 2 -- dead letters removed when one comes, at most: so they become fewer
local PARENTS_BYTES = 1000 * (ID_LENGTH + 1) -- of the ids of the jobs that wait for one
local PARENTS_AT_ONCE = 500 -- that one script sees to; the next claim goes on

-- ---- Groups ----

-- How many jobs of a group are started and not over.
local function started_of(group)
  return tonumber(redis.call('HGET', GROUPS, group)) or 0
end

-- The first parked job of a group goes back to the queue: the claim sees whether it may start.
local function unpark(group)
  local prefix = string.format('%04d ', #group) .. group
  local spot = group ~= '' and redis.call('ZRANGE', PARKED, '[' .. prefix .. ' ', '(' .. prefix .. '!',
                                          'BYLEX', 'LIMIT', 0, 1)[1]
  if spot then
    local id, priority = read_spot(spot)
    redis.call('ZREM', PARKED, spot)
    make_ready(id, priority)
  end
end

-- A job of the group counts no more, and makes room for the next.
local function leave_group(group)
  local others = group ~= '' and started_of(group) - 1
  if others and others > 0 then
    redis.call('HSET', GROUPS, group, others)
  elseif others then
    redis.call('HDEL', GROUPS, group)
  end
  unpark(group)
end

-- ---- Flows ----

-- A job of a flow waits for one job less; after the last it is ready, or waits for its time.
local function wait_for_one_less(parent)
  local left = redis.call('ZSCORE', FLOW, parent)
  if left and tonumber(left) > 1 then
    redis.call('ZADD', FLOW, left - 1, parent)
  elseif left then
    local priority, due = string.match(redis.call('HGET', FLOW_PLACES, parent) or '',
                                       '^(%-?%d+) (%d+)$')
    redis.call('ZREM', FLOW, parent)
    redis.call('HDEL', FLOW_PLACES, parent)
    if due and tonumber(due) > now then
      redis.call('ZADD', DELAYED, due, parent)
    else
      make_ready(parent, tonumber(priority) or 0)
    end
  end
end

-- What one script may do: it makes one when it begins, and all ends of jobs use it up.
local function new_budget()
  return {parents = PARENTS_AT_ONCE}
end

-- The jobs that wait for this one learn that it is over. When the script has seen to many parents
-- already, the next claim goes on.
local function tell_parents(id, budget)
  local parents = redis.call('HGET', PARENTS, id)
  if parents and budget.parents <= 0 then
    redis.call('ZADD', DELAYED, text(now), 'ended:' .. id)
  elseif parents then
    for parent in string.gmatch(string.sub(parents, 1, PARENTS_BYTES), '%x+') do
      budget.parents = budget.parents - 1
      wait_for_one_less(parent)
    end
    redis.call('HDEL', PARENTS, id)
  end
end

-- ---- Ends ----

-- Callers that wait for the result of a job hear of its end; `results` and its id are the channel.
local function tell_end(results, id, message)
  redis.pcall('SPUBLISH', results .. id, message)
end

-- A job is over and leaves nothing behind. The caller has taken it out of READY, ACTIVE or wherever
-- it was. `started`: it has a place in its group.
local function remove(id, record, started, budget)
  if has_options(record) then
    local job = read(record)
    free_unique(job.unique_key, id)
    if started then
      leave_group(job.group_name)
    else
      unpark(job.group_name) -- it may have been the one that was let in
    end
    tell_parents(id, budget)
  end
  redis.call('HDEL', JOBS, id)
  redis.call('HDEL', HISTORY, id)
  redis.call('HDEL', PROGRESS, id)
end

-- Dead letters that are too many, or too old, are removed: of the `count` oldest. Returns how many,
-- and their bytes.
local function trim_dead(meta, count, budget)
  local removed, bytes, most = 0, 0, meta.dead_max or DEAD_MAX
  local over = redis.call('ZCARD', DEAD) - most
  local oldest = redis.call('ZRANGE', DEAD, 0, count - 1, 'WITHSCORES')
  for i = 1, #oldest, 2 do
    local id, died = oldest[i], tonumber(oldest[i + 1])
    if (i + 1) / 2 <= over or died <= now - (meta.dead_ms or DEAD_MS) then
      removed, bytes = removed + 1, bytes + redis.call('HSTRLEN', JOBS, id)
      redis.call('ZREM', DEAD, id)
      redis.call('HDEL', JOBS, id)
      redis.call('HDEL', HISTORY, id)
      redis.call('HDEL', PROGRESS, id)
      tell_parents(id, budget)
    end
  end
  return removed, bytes
end

-- A job that was claimed goes to the dead letters. Returns the bytes of those that had to go for it.
local function move_to_dead(id, record, history, meta, results, budget)
  redis.call('ZADD', DEAD, text(now), id)
  write_history(id, history)
  if has_options(record) then
    local job = read(record)
    free_unique(job.unique_key, id)
    leave_group(job.group_name)
    if job.result then
      tell_end(results, id, 'dead ' .. history.problem)
    end
  end
  local _, bytes = trim_dead(meta, TRIMMED, budget)
  return bytes
end
