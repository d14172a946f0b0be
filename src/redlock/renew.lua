-- redlock/renew: make the lease last longer.
-- KEYS[1] lock   string: the owner's token
-- ARGV[1] token
-- ARGV[2] lease  milliseconds
-- ARGV[3] valid  1: the lock is valid still, so a server that forgot it writes it down again
-- returns 0, or 6 (TKL_NOTOWNER) when this server did not have it (also when it has it now)

local owner = redis.call('GET', KEYS[1])
if owner == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2], 'GT')
  return 0
end
if not owner and ARGV[3] == '1' then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
end
return 6
