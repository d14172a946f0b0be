-- config/set: add a version, if the last one is what the caller expects.
-- KEYS[1...] configuration  see versions.inc.lua
-- ARGV[1] value     JSON
-- ARGV[2] expected  version that must be the last; -1: any; 0: there must be no value
-- ARGV[3] keep      how many versions stay
-- ARGV[4] author    who sets it
-- ARGV[5] request   random, for a request that is repeated
-- returns 1 and the new version; 0 and the current version when that is not the expected one (0:
--   there is no value)
-- include: shared/clock
-- include: shared/decimal
-- include: versions

local value, expected, keep, author, request = unpack(ARGV)
expected = tonumber(expected)

local done = redis.call('ZSCORE', REQUESTS, request)
if done then
  return {1, tonumber(done)}
end
local current = versions.current()
if expected >= 0 and expected ~= (current or 0) then
  return {0, current or 0}
end
local version = decimal.whole((current or versions.dropped()) + 1)
local time = decimal.whole(clock.ms())
-- Publishes first: a user without permission to publish is refused before anything changes.
redis.call('SPUBLISH', VERSIONS, version)
redis.call('LPUSH', VERSIONS, author, time, value, version)
redis.call('LTRIM', VERSIONS, 0, FIELDS * keep - 1)
versions.note_request(request, version)
if not current then
  redis.call('PERSIST', REQUESTS) -- requests expire after a configuration was dropped
end
return {1, tonumber(version)}
