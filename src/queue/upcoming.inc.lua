-- Jobs that the next claim makes ready: delayed ones whose time has come, and ended leases. Reports
-- about the queue count them as ready.
-- include: jobs
-- include: shared/ranked

local upcoming = {}

local SOON, SOON_BYTES = 200, 4000000 -- most jobs of each kind, and bytes that are read of them

-- Delayed jobs that are due: {id, since when it is ready, score in READY} of each.
function upcoming.due()
  local found, bytes = {}, 0
  local due = ranked.up_to(DELAYED, now, SOON, 'WITHSCORES')
  for i = 1, #due, 2 do
    local kind, id = jobs.read_delayed(due[i])
    local record, read
    if kind == 'job' and bytes < SOON_BYTES then
      record, read = jobs.beginning(id, 0)
    end
    if record then
      local time = tonumber(due[i + 1])
      local score = jobs.score(jobs.priority_of(record), DUE, time)
      found[#found + 1] = {id = id, since = math.max(time, jobs.pushed_at(id)),
                           score = tonumber(score)}
      bytes = bytes + read
    end
  end
  return found
end

-- The same for jobs whose leases ended, unless that was the last attempt.
function upcoming.ended()
  local found, bytes = {}, 0
  local ended = ranked.up_to(ACTIVE, now, SOON, 'WITHSCORES')
  for i = 1, #ended, 2 do
    local id = jobs.claimed_id(ended[i])
    local record, read
    if bytes < SOON_BYTES then
      record, read = jobs.beginning(id, 0)
    end
    local job = record and jobs.read(record)
    if job and jobs.read_history(redis.call('HGET', HISTORY, id)).failures < job.retries then
      found[#found + 1] = {id = id, since = tonumber(ended[i + 1]),
                           score = tonumber(jobs.score(job.priority, BACK))}
      bytes = bytes + read
    end
  end
  return found
end

-- All upcoming jobs, in the order in which they will be claimed.
function upcoming.ready()
  local found = upcoming.due()
  for _, one in ipairs(upcoming.ended()) do
    found[#found + 1] = one
  end
  table.sort(found, function(a, b)
    return a.score < b.score or a.score == b.score and a.id < b.id
  end)
  return found
end
