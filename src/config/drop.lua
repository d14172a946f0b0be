-- config/drop: remove a configuration. Its last version stays for a while, so that the next value
-- gets another.
-- KEYS[1...] configuration  see version.inc.lua
-- ARGV[1] ttl       how long the version stays, in milliseconds
-- returns 1: removed; 0: there is none
-- include: version

local ttl = ARGV[1]
if redis.call('XLEN', VERSIONS) == 0 then
  return 0
end
local last = last_version()
redis.call('SPUBLISH', VERSIONS, '0')
note_request('dropped', string.format('%d', last))
redis.call('UNLINK', VERSIONS)
redis.call('PEXPIRE', REQUESTS, ttl)
return 1
