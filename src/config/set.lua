-- config/set: add a version, if the last one is what the caller expects.
-- KEYS[1...] configuration  see version.inc.lua
-- ARGV[1] value     JSON
-- ARGV[2] expected  version that must be the last; -1: any; 0: there must be no value
-- ARGV[3] keep      how many versions stay
-- ARGV[4] author    who sets it
-- ARGV[5] request   random, for a request that is repeated
-- returns 1 and the new version; 0 and the current version when that is not the expected one (0:
--   there is no value)
-- include: shared/clock
-- include: version

local value, expected, keep, author, request = unpack(ARGV)
expected = tonumber(expected)

local done = redis.call('ZSCORE', REQUESTS, request)
if done then
  return {1, tonumber(done)}
end
local last = last_version()
local current = redis.call('XLEN', VERSIONS) > 0 and last or 0
if expected >= 0 and expected ~= current then
  return {0, current}
end
local version = string.format('%d', last + 1)
local now = string.format('%d', clock_ms())
-- Published first: a user who may not publish is refused before anything is changed.
redis.call('SPUBLISH', VERSIONS, version)
redis.call('XADD', VERSIONS, 'MAXLEN', '=', keep, version .. '-0',
  'value', value, 'time', now, 'author', author)
note_request(request, version)
redis.call('PERSIST', VERSIONS)
redis.call('PERSIST', REQUESTS)
return {1, last + 1}
