-- queue/renew: make leases last from now on.
-- KEYS[1...] queue   see keys.inc.lua
-- ARGV[1] lease      milliseconds
-- ARGV[2] progress   of the first; '' leaves it as it is
-- ARGV[3] worker     who renews, see workers.introduce(); '' for a caller that is none
-- ARGV[4] counts     see times.count(); '' for none
-- ARGV[5...] claims  "id:token" of each
-- flags: allow-oom
-- returns the places, from 0, of those that are not valid any more
-- include: shared/clock
-- include: times
-- include: workers

now = clock.ms()
local FIRST_CLAIM = 5 -- index in ARGV
local lease, progress, worker, counts = unpack(ARGV)
local claims = {unpack(ARGV, FIRST_CLAIM)}

types.check_hashes(PROGRESS, SINCE)
local leases, sinces, gone, lease_end = {}, {}, {}, decimal.whole(now + lease)
local held = redis.call('ZMSCORE', ACTIVE, unpack(claims))

-- Notes when a job was claimed: once the lease is renewed, its end does not tell that any more.
local function note_since(claim, lease_end)
  local id, token = jobs.claimed_id(claim), jobs.claim_token(claim)
  local noted = redis.call('HGET', SINCE, id)
  local first_lease = workers.lease_of(token) or tonumber(lease)
  local since = decimal.whole(workers.claimed_at(claim, tonumber(lease_end), noted, first_lease))
  sinces[#sinces + 1] = id
  sinces[#sinces + 1] = token .. ' ' .. since
end

for i, claim in ipairs(claims) do
  if held[i] then
    leases[#leases + 1] = lease_end
    leases[#leases + 1] = claim
    note_since(claim, held[i])
  else
    gone[#gone + 1] = i - 1
  end
end
if leases[1] then
  redis.call('ZADD', ACTIVE, 'XX', unpack(leases))
  redis.call('HSET', SINCE, unpack(sinces))
end
if held[1] and progress ~= '' then
  redis.call('HSET', PROGRESS, jobs.claimed_id(claims[1]), progress)
end
workers.introduce(worker, tonumber(lease), false)
times.count(counts)
return gone
