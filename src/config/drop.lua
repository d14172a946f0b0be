-- config/drop: remove a configuration. Its last version stays for a while, so that the next value
-- gets another.
-- KEYS[1] versions  stream; also the channel
-- KEYS[2] requests  sorted set
-- ARGV[1] ttl       how long the version stays, in milliseconds
-- returns 1: removed; 0: there is none
-- include: version

local VERSIONS, REQUESTS = KEYS[1], KEYS[2]
local ttl = ARGV[1]
if redis.call('XLEN', VERSIONS) == 0 then
  return 0
end
local last = last_version(VERSIONS, REQUESTS)
redis.call('SPUBLISH', VERSIONS, '0')
note_request(REQUESTS, 'dropped', string.format('%d', last))
redis.call('UNLINK', VERSIONS)
redis.call('PEXPIRE', REQUESTS, ttl)
return 1
