-- queue/renew: make leases last from now on.
-- KEYS[1...] queue   see keys.inc.lua
-- ARGV[1] lease      milliseconds
-- ARGV[2] progress   of the first; '' leaves it as it is
-- ARGV[3...] claims  "id:token" of each
-- flags: allow-oom
-- returns the places, from 0, of those that are not valid any more
-- include: shared/clock
-- include: jobs

now = clock.ms()
local FIRST_CLAIM = 3 -- index in ARGV
local lease, progress = unpack(ARGV)
local claims = {unpack(ARGV, FIRST_CLAIM)}

types.check_hashes(PROGRESS)
local leases, gone, lease_end = {}, {}, decimal.whole(now + lease)
local held = redis.call('ZMSCORE', ACTIVE, unpack(claims))
for i, claim in ipairs(claims) do
  if held[i] then
    leases[#leases + 1] = lease_end
    leases[#leases + 1] = claim
  else
    gone[#gone + 1] = i - 1
  end
end
if leases[1] then
  redis.call('ZADD', ACTIVE, 'XX', unpack(leases))
end
if held[1] and progress ~= '' then
  redis.call('HSET', PROGRESS, jobs.claimed_id(claims[1]), progress)
end
return gone
