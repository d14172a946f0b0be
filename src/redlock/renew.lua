-- redlock/renew: make the lease last longer.
-- KEYS[1] lock   string: the owner's token
-- ARGV[1] token
-- ARGV[2] lease  milliseconds
-- ARGV[3] valid  1: the lock is valid still, so a server that forgot it writes it down again
-- returns 0, or 6 (TKL_NOTOWNER) when this server did not have it (also when it has it now)

local OK, NOTOWNER = 0, 6
local LOCK = KEYS[1]
local token, lease, valid = unpack(ARGV)
local owner = redis.call('GET', LOCK)
if owner == token then
  redis.call('PEXPIRE', LOCK, lease, 'GT')
  return OK
end
if not owner and valid == '1' then
  redis.call('SET', LOCK, token, 'PX', lease)
end
return NOTOWNER
