-- queue/renew: make leases last from now on.
-- KEYS[1...] queue   see keys.inc.lua
-- ARGV[1] lease      milliseconds
-- ARGV[2] progress   of the first; '' leaves it as it is
-- ARGV[3] worker     who renews, see workers.introduce(); '' for a caller that is none
-- ARGV[4] counts     see times.count(); '' for none
-- ARGV[5...] claims  "id:token" of each
-- flags: allow-oom
-- returns the indexes, from 0, of claims that are not valid any more
-- include: shared/clock
-- include: times
-- include: workers

now = clock.ms()
local FIRST_CLAIM = 5 -- index in ARGV
local lease, progress, worker, counts = unpack(ARGV)
local claims = {unpack(ARGV, FIRST_CLAIM)}

types.check_hashes(PROGRESS, SINCE)
local ids, first_leases = {}, {} -- ids of the claims; first lease of each worker
for i, claim in ipairs(claims) do
  ids[i] = jobs.claimed_id(claim)
end
local held = redis.call('ZMSCORE', ACTIVE, unpack(claims))
local noted = redis.call('HMGET', SINCE, unpack(ids))
local leases, sinces, gone, lease_end = {}, {}, {}, decimal.whole(now + lease)

-- The lease with which a token claimed.
local function first_lease(token)
  local id = workers.of_token(token)
  first_leases[id] = first_leases[id] or workers.lease_of(token) or tonumber(lease)
  return first_leases[id]
end

-- Notes when a job was claimed, unless it is known: the end of a renewed lease does not show it any
-- more.
local function note_since(i)
  local token = jobs.claim_token(claims[i])
  if not noted[i] or string.sub(noted[i], 1, #token) ~= token then
    local since = workers.claimed_at(claims[i], tonumber(held[i]), nil, first_lease(token))
    sinces[#sinces + 1] = ids[i]
    sinces[#sinces + 1] = token .. ' ' .. decimal.whole(since)
  end
end

for i, claim in ipairs(claims) do
  if held[i] then
    leases[#leases + 1] = lease_end
    leases[#leases + 1] = claim
    note_since(i)
  else
    gone[#gone + 1] = i - 1
  end
end
if leases[1] then
  redis.call('ZADD', ACTIVE, 'XX', unpack(leases))
end
if sinces[1] then
  redis.call('HSET', SINCE, unpack(sinces))
end
if held[1] and progress ~= '' then
  redis.call('HSET', PROGRESS, ids[1], progress)
end
workers.introduce(worker, tonumber(lease), false)
times.count(counts)
return gone
