-- Finding jobs by their ids.
-- include: jobs

local finding = {}

local SCANS, SCANNED = 20, 500 -- steps of one script through ACTIVE, and their size

-- Searches for a job among the active ones. A result with only `cursor`: the next script continues
-- there.
function finding.active(id, cursor)
  for _ = 1, SCANS do
    local step = redis.call('ZSCAN', ACTIVE, cursor, 'MATCH', id .. ':*', 'COUNT', SCANNED)
    local member, score = unpack(step[2])
    cursor = step[1]
    if member then
      return {state = 'active', key = ACTIVE, member = member, score = score}
    elseif cursor == '0' then
      return {state = 'unknown'}
    end
  end
  return {cursor = cursor}
end

-- The state of a job that no worker has, and the key, the member and the score by which it is
-- stored. Nil: a worker has it.
function finding.resting(id, record)
  local keys = {ready = READY, delayed = DELAYED, held = FLOW, dead = DEAD}
  for state, key in pairs(keys) do
    local score = redis.call('ZSCORE', key, id)
    if score then
      return {state = state, key = key, member = id, score = score}
    end
  end
  local job = jobs.read(record)
  local spot = jobs.parking_spot(job.group_name, job.priority, id)
  if job.group > 0 and redis.call('ZSCORE', PARKED, spot) then
    return {state = 'held', key = PARKED, member = spot, score = '0'}
  end
end

-- The same for any job; see finding.active() for the cursor.
function finding.job(id, record, cursor)
  return finding.resting(id, record) or finding.active(id, cursor)
end
