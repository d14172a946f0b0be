-- The ends of jobs, with the changes to their groups, their unique keys and their parents.
-- include: unique
-- include: events

local ends = {}

local TRIMMED = 2 -- dead letters to remove when one comes; two, so that their number shrinks
local PARENTS_BYTES = 1000 * (ID_LENGTH + 1) -- bytes of the ids of the jobs that wait for one job
local PARENTS_AT_ONCE = 500 -- released by one script; the next claim releases the rest

-- ---- Groups ----

-- How many jobs of a group are started and not over.
function ends.started_in(group)
  return tonumber(redis.call('HGET', GROUPS, group)) or 0
end

-- Puts the first parked job of a group back into the queue. The next claim decides whether it
-- starts.
function ends.unpark(group)
  if group == '' then
    return
  end
  local prefix = jobs.parking_prefix(group)
  local spot = redis.call('ZRANGE', PARKED, '[' .. prefix .. ' ', '(' .. prefix .. '!', 'BYLEX',
                          'LIMIT', 0, 1)[1]
  if spot then
    local id, priority = jobs.read_spot(spot)
    redis.call('ZREM', PARKED, spot)
    jobs.make_ready(id, priority)
  end
end

-- Removes a started job from its group, and makes room for the next.
function ends.leave_group(group)
  if group == '' then
    return
  end
  local others = ends.started_in(group) - 1
  if others > 0 then
    redis.call('HSET', GROUPS, group, others)
  else
    redis.call('HDEL', GROUPS, group)
  end
  ends.unpark(group)
end

-- ---- Flows ----

-- Lets a parent wait for one job less. After the last one it becomes ready, or waits until it is
-- due.
function ends.release_parent(parent)
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
      jobs.make_ready(parent, tonumber(priority) or 0)
    end
  end
end

-- A script makes a budget when it begins, and all ends of jobs in that script use it up.
function ends.new_budget()
  return {parents = PARENTS_AT_ONCE}
end

-- Releases the parents of a job that is over. When this script has released many parents already,
-- the next claim does it.
function ends.release_parents(id, budget)
  local parents = redis.call('HGET', PARENTS, id)
  if parents and budget.parents <= 0 then
    redis.call('ZADD', DELAYED, decimal.whole(now), 'ended:' .. id)
  elseif parents then
    for parent in string.gmatch(string.sub(parents, 1, PARENTS_BYTES), '%x+') do
      budget.parents = budget.parents - 1
      ends.release_parent(parent)
    end
    redis.call('HDEL', PARENTS, id)
  end
end

-- ---- Ends ----

-- Publishes the end of a job to the callers that wait for its result. Their channel is `results`
-- followed by the id.
function ends.publish(results, id, message)
  redis.pcall('SPUBLISH', results .. id, message)
end

-- Removes the record of a job, its head, its history, its progress and the time of its claim.
function ends.remove_record(id)
  redis.call('HDEL', JOBS, id)
  redis.call('HDEL', HEADS, id)
  redis.call('HDEL', HISTORY, id)
  redis.call('HDEL', PROGRESS, id)
  redis.call('HDEL', SINCE, id)
end

-- Removes a job that is over. The caller has taken it out of the set that it was in.
-- `started`: it has a place in its group.
function ends.remove(id, record, started, budget)
  if jobs.has_options(record) then
    local job = jobs.read(record)
    unique.free(job.unique_key, id)
    if started then
      ends.leave_group(job.group_name)
    else
      ends.unpark(job.group_name) -- if the group has let this job in, the next takes its turn
    end
    ends.release_parents(id, budget)
  end
  ends.remove_record(id)
end

-- Removes dead letters that are too many or too old, among the `count` oldest. Returns how many,
-- and their bytes.
function ends.trim_dead(meta, count, budget)
  local removed, bytes, most = 0, 0, meta.dead_max or TKL__QUEUE_DEAD_MAX
  local over = redis.call('ZCARD', DEAD) - most
  local oldest = redis.call('ZRANGE', DEAD, 0, count - 1, 'WITHSCORES')
  for i = 1, #oldest, 2 do
    local id, died = oldest[i], tonumber(oldest[i + 1])
    if (i + 1) / 2 <= over or died <= now - (meta.dead_ms or TKL__QUEUE_DEAD_MS) then
      removed, bytes = removed + 1, bytes + redis.call('HSTRLEN', JOBS, id)
      redis.call('ZREM', DEAD, id)
      ends.remove_record(id)
      ends.release_parents(id, budget)
    end
  end
  return removed, bytes
end

-- Moves a claimed job to the dead letters. Returns the bytes of older dead letters that it removed.
function ends.move_to_dead(id, record, history, meta, results, budget)
  redis.call('ZADD', DEAD, decimal.whole(now), id)
  jobs.write_history(id, history)
  if jobs.has_options(record) then
    local job = jobs.read(record)
    unique.free(job.unique_key, id)
    ends.leave_group(job.group_name)
    if job.result then
      ends.publish(results, id, 'dead ' .. history.problem)
    end
  end
  local _, bytes = ends.trim_dead(meta, TRIMMED, budget)
  return bytes
end
