-- config/drop: remove a configuration. Its last version stays for a while, so that the next value
-- gets another.
-- KEYS[1...] configuration  see versions.inc.lua
-- ARGV[1] ttl       how long the version stays, in milliseconds
-- flags: allow-oom
-- returns 1: removed; 0: there is none
-- include: shared/decimal
-- include: versions

local ttl = ARGV[1]

local current = versions.current()
if not current then
  return 0
end
redis.call('SPUBLISH', VERSIONS, '0')
redis.call('ZSCORE', REQUESTS, 'dropped') -- fails if the key has a wrong type
redis.call('UNLINK', VERSIONS)
versions.note_request('dropped', decimal.whole(current))
redis.call('PEXPIRE', REQUESTS, ttl)
return 1
