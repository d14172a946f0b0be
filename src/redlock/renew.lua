-- redlock/renew: make the lease last longer.
-- KEYS[1] lock   string: the owner's token
-- ARGV[1] token
-- ARGV[2] lease  milliseconds
-- ARGV[3] valid  1: the lock is valid still, so a server that forgot it writes it down again
-- flags: allow-oom
-- returns TKL_OK, or TKL_NOTOWNER when this server did not have it (also when it has it now)

local LOCK = KEYS[1]
local token, lease, valid = unpack(ARGV)

local owner = redis.call('GET', LOCK)
if owner == token then
  redis.call('PEXPIRE', LOCK, lease, 'GT')
  return TKL_OK
end
if not owner and valid == '1' then
  redis.call('SET', LOCK, token, 'PX', lease)
end
return TKL_NOTOWNER
