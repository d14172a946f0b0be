-- service/deregister: take an instance off the list.
-- KEYS[1...] service  see leases.inc.lua
-- ARGV[1] id
-- ARGV[2] token
-- flags: allow-oom
-- returns 1: done; 0: it is not there; -1: another registration has the id
-- include: leases

local id, token = unpack(ARGV)

local owner = redis.call('HGET', OWNERS, id)
if not owner then
  return 0
end
if owner ~= token then
  return -1
end
redis.call('SPUBLISH', LEASES, id)
leases.remove({id})
return 1
