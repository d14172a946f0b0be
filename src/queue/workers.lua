-- queue/workers: the workers of this queue, and the jobs that they have.
-- KEYS[1...] queue  see keys.inc.lua
-- flags: no-writes
-- returns {now, {worker, seen, lease, 1 if it stands in line, text, ...},
--   {worker, id, since when, end of the lease, kind, ...}}; a time that is not known is 0
-- include: shared/clock
-- include: line
-- include: workers

now = clock.ms()
local CLAIMS_MAX, WAITERS_MAX = 1000, 2000 -- claims and waiters that are looked at

-- The workers that stand in line and listen at this server.
local function workers_in_line()
  local found, listens = {}, {}
  for _, place in ipairs(redis.call('ZRANGE', WAITERS, 0, WAITERS_MAX - 1)) do
    local waiter = line.read_place(place)
    if waiter and listens[waiter.channel] == nil then
      listens[waiter.channel] = waiters.is_here(waiter) ~= false
    end
    if waiter and listens[waiter.channel] then
      found[workers.of_token(waiter.token)] = true
    end
  end
  return found
end

local function kind_of(id)
  return jobs.kind_of((jobs.beginning(id, 0)))
end

local rows, claims = {}, {}
local leases, has_claims = {}, {} -- by worker
local in_line = workers_in_line()
local active = redis.call('ZRANGE', ACTIVE, '(' .. decimal.whole(now), '+inf', 'BYSCORE',
                          'LIMIT', 0, CLAIMS_MAX, 'WITHSCORES')
for i = 1, #active, 2 do
  has_claims[workers.of_token(jobs.claim_token(active[i]) or '')] = true
end

local all = redis.call('HGETALL', WORKERS)
for i = 1, #all, 2 do
  local id, worker = all[i], workers.read(all[i + 1])
  leases[id] = worker and worker.lease
  if worker and (worker.seen + worker.lease > now or in_line[id] or has_claims[id]) then
    for _, part in ipairs({id, worker.seen, worker.lease, in_line[id] and 1 or 0, worker.text}) do
      rows[#rows + 1] = part
    end
  end
end
for i = 1, #active, 2 do
  local claim, lease_end = active[i], tonumber(active[i + 1])
  local id, worker = jobs.claimed_id(claim), workers.of_token(jobs.claim_token(claim) or '')
  local since = workers.claimed_at(claim, lease_end, redis.call('HGET', SINCE, id), leases[worker])
  for _, part in ipairs({worker, id, since or 0, math.ceil(lease_end), kind_of(id)}) do
    claims[#claims + 1] = part
  end
end
return {now, rows, claims}
