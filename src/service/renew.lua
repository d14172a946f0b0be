-- service/renew: make the lease of an instance last from now.
-- KEYS[1...] service  see leases.inc.lua
-- ARGV[1] id
-- ARGV[2] token
-- ARGV[3] lease   milliseconds
-- flags: allow-oom
-- returns 1: renewed; 0: another registration has the id; 2: it is not listed any more
-- include: leases

local id, token, lease = unpack(ARGV)

local time = clock.ms()
local gone = leases.ended(time)
local owner, alive = redis.call('HGET', OWNERS, id), redis.call('ZSCORE', LEASES, id)
if not owner or not alive or not redis.call('HGET', INFOS, id) then
  return 2
elseif owner ~= token then
  return tonumber(alive) > time and 0 or 2
end
if tonumber(alive) <= time or #gone > 0 then
  redis.call('SPUBLISH', LEASES, id)
end
leases.prolong(id, time, lease, gone)
return 1
