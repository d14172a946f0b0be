-- config/drop: remove a configuration. Its last version stays for a while, so that the next value
-- gets another.
-- KEYS[1] versions  stream; also the channel
-- ARGV[1] ttl       how long the version stays, in milliseconds
-- returns 1: removed; 0: there is none

local VERSIONS = KEYS[1]
local ttl = ARGV[1]
if redis.call('XLEN', VERSIONS) == 0 then
  return 0
end
redis.call('SPUBLISH', VERSIONS, '0')
redis.call('XTRIM', VERSIONS, 'MAXLEN', '=', 0)
redis.call('PEXPIRE', VERSIONS, ttl)
return 1
