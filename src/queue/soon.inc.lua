-- Jobs that the next claim makes ready: delayed ones whose time has come, and ended leases. Whoever
-- looks at the queue sees them as ready.
-- include: jobs

local SOON, SOON_BYTES = 200, 8000000 -- of each kind, and of their records

-- {id, place in READY, since when} of each.
local function due_jobs()
  local found, bytes = {}, 0
  local due = redis.call('ZRANGE', DELAYED, '-inf', text(now), 'BYSCORE', 'LIMIT', 0, SOON,
                         'WITHSCORES')
  for i = 1, #due, 2 do
    local kind, id = read_delayed(due[i])
    local record = kind == 'job' and bytes < SOON_BYTES and redis.call('HGET', JOBS, id)
    if record then
      local time = math.max(tonumber(due[i + 1]), pushed_at(id))
      found[#found + 1] = {id = id, since = time, record = record,
                           place = tonumber(place(priority_of(record), DUE, tonumber(due[i + 1])))}
      bytes = bytes + #record
    end
  end
  return found
end

-- The same of leases that ended, unless that was the last attempt.
local function ended_jobs()
  local found, bytes = {}, 0
  local ended = redis.call('ZRANGE', ACTIVE, '-inf', text(now), 'BYSCORE', 'LIMIT', 0, SOON,
                           'WITHSCORES')
  for i = 1, #ended, 2 do
    local id = claimed_id(ended[i])
    local record = bytes < SOON_BYTES and redis.call('HGET', JOBS, id)
    local job = record and read(record)
    if job and read_history(redis.call('HGET', HISTORY, id)).failures < job.retries then
      found[#found + 1] = {id = id, since = tonumber(ended[i + 1]), record = record,
                           place = tonumber(place(job.priority, BACK))}
      bytes = bytes + #record
    end
  end
  return found
end

-- All of them, in the order in which they will be claimed.
local function soon_ready()
  local found = due_jobs()
  for _, one in ipairs(ended_jobs()) do
    found[#found + 1] = one
  end
  table.sort(found, function(a, b)
    return a.place < b.place or a.place == b.place and a.id < b.id
  end)
  return found
end
