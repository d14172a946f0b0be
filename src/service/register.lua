-- service/register: list an instance.
-- KEYS[1...] service  see leases.inc.lua
-- ARGV[1] id
-- ARGV[2] token
-- ARGV[3] lease   milliseconds
-- ARGV[4] info
-- ARGV[5] again   1: the server has lost it; an instance of another registration is not replaced
-- ARGV[6] most    instances of a service
-- returns 1: listed; 0: another registration has the id; -1: there are too many
-- include: leases

local id, token, lease, info, again, most = unpack(ARGV)

local time = clock.ms()
local gone = leases.ended(time)
local owner, alive = redis.call('HGET', OWNERS, id), redis.call('ZSCORE', LEASES, id)
redis.call('HGET', INFOS, id) -- fails if the key has a wrong type
if again == '1' and owner and alive and owner ~= token and tonumber(alive) > time then
  return 0
end
if not alive and redis.call('ZCARD', LEASES) - #gone >= tonumber(most) then
  return -1
end
-- Publishes first: a user without permission to publish is refused before anything changes.
redis.call('SPUBLISH', LEASES, id)
redis.call('HSET', OWNERS, id, token)
redis.call('HSET', INFOS, id, info)
leases.prolong(id, time, lease, gone)
return 1
