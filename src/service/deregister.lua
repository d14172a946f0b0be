-- service/deregister: take an instance off the list.
-- KEYS[1] leases  see service/register
-- KEYS[2] owners
-- KEYS[3] infos
-- ARGV[1] id
-- ARGV[2] token
-- returns 1: done; 0: it is not there; -1: another registration has the id
-- include: leases

local LEASES, OWNERS, INFOS = KEYS[1], KEYS[2], KEYS[3]
local id, token = unpack(ARGV)
local owner = redis.call('HGET', OWNERS, id)
if not owner then
  return 0
end
if owner ~= token then
  return -1
end
redis.call('SPUBLISH', LEASES, id)
remove(LEASES, OWNERS, INFOS, {id})
return 1
