-- Workers: the consumers that claim from this queue. WORKERS has "seen lease until text" of each:
-- when it was last seen, how long its leases last, when to forget it, and its description of itself
-- (introduce.c). The first digits of a token name its worker. This is for operators: if a key has
-- another type, work goes on without it.
-- include: jobs

local workers = {}

local WORKERS_MAX = 2000      -- rows; further workers are not listed
local FORGOTTEN = 4           -- rows that are checked whenever one is added: dead ones stay few
local WAITING_MS = 60000      -- a waiter asks again in less than this
local WORKERS_MS = 86400000   -- all rows expire when no worker was seen for this long

-- The worker that has a claim, by its token.
function workers.of_token(token)
  return string.sub(token, 1, TKL__QUEUE_WORKER_LEN)
end

-- A row of WORKERS; nil for any other text.
function workers.read(row)
  local seen, lease, till, text = string.match(row or '', '^(%d+) (%d+) (%d+) (.*)$')
  return seen and {seen = tonumber(seen), lease = tonumber(lease), till = tonumber(till),
                   text = text}
end

-- Removes some of the rows whose time is over.
function workers.forget_some()
  local rows = redis.call('HRANDFIELD', WORKERS, FORGOTTEN, 'WITHVALUES')
  for i = 1, #rows, 2 do
    local worker = workers.read(rows[i + 1])
    if not worker or worker.till <= now then
      redis.call('HDEL', WORKERS, rows[i])
    end
  end
end

-- Notes that a worker was seen. `words`: its id and its description of itself; '' when it sent
-- none. `waits`: it stands in line, and may send nothing for a while.
function workers.introduce(words, lease, waits)
  local id, text = string.match(words, '^(%x+) (.*)$')
  if not id then
    return
  end
  local till = now + math.max(lease, waits and WAITING_MS or 0)
  local added = redis.pcall('HSET', WORKERS, id,
                            string.format('%.0f %.0f %.0f ', now, lease, till) .. text)
  if added == 1 then
    workers.forget_some()
    if redis.call('HLEN', WORKERS) > WORKERS_MAX then
      redis.call('HDEL', WORKERS, id)
    end
  end
  redis.pcall('PEXPIRE', WORKERS, WORKERS_MS)
end

-- The lease of the worker that has a token, in milliseconds; nil when it is not known.
function workers.lease_of(token)
  local row = redis.pcall('HGET', WORKERS, workers.of_token(token))
  local worker = type(row) == 'string' and workers.read(row)
  return worker and worker.lease
end

-- When a job was claimed. SINCE has it if the claim was renewed; before that it is a lease before
-- the end of the lease. `lease`: its worker's, or nil. Returns nil when it is not known.
function workers.claimed_at(claim, lease_end, noted, lease)
  local token, since = string.match(noted or '', '^(%S+) (%d+)$')
  if token and token == jobs.claim_token(claim) then
    return tonumber(since)
  elseif lease and jobs.is_unconfirmed(lease_end) then
    lease = math.min(lease, TKL__LINE_FIRST_LEASE_MS)
  end
  return lease and math.ceil(lease_end) - lease
end

-- The worker that has a claim, for reports about jobs: since when, 0 when that is not known, and
-- "worker text". Without a claim both are empty.
function workers.claimant(claim, lease_end)
  if not claim then
    return 0, ''
  end
  local id = workers.of_token(jobs.claim_token(claim) or '')
  local worker = workers.read(redis.call('HGET', WORKERS, id))
  local noted = redis.call('HGET', SINCE, jobs.claimed_id(claim))
  local since = workers.claimed_at(claim, tonumber(lease_end), noted, worker and worker.lease)
  return since or 0, id .. ' ' .. (worker and worker.text or '')
end
