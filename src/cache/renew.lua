-- cache/renew: hold the lease for longer.
-- KEYS[1...] value  see keys.inc.lua
-- ARGV[1] token     of the caller
-- ARGV[2] lease     ms
-- flags: allow-oom
-- returns 1; 0: the lease was lost
-- include: keys

local token, lease = unpack(ARGV)

if redis.call('GET', LEASE) ~= token then
  return 0
end
return redis.call('PEXPIRE', LEASE, lease)
