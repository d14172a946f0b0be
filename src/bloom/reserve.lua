-- bloom/reserve: make a filter, or add a sub-filter to one.
-- KEYS[1] meta       hash
-- ARGV[1] before     the version that it must have; '' for a new filter
-- ARGV[2] version    that it gets
-- ARGV[3] lifetime   of meta in milliseconds; 0: as it is
-- ARGV[4...] fields  and values of meta
-- returns TKL_OK, TKL_EXISTS when it has another version, TKL_BUSY when it is being dropped; an
--   error when meta is not that of a filter

local FIELDS = 4 -- index of the first field in ARGV
local META = KEYS[1]
local before, next_version, lifetime = unpack(ARGV)

local version, dropping = unpack(redis.call('HMGET', META, 'version', 'dropping'))
if not version and redis.call('EXISTS', META) == 1 then
  return redis.error_reply('WRONGTYPE the hash is not a filter of tackle')
end
if dropping then
  return TKL_BUSY
end
if version == next_version then -- a repeated request
  return TKL_OK
end
if (version or '') ~= before then
  return TKL_EXISTS
end
redis.call('HSET', META, 'version', next_version, unpack(ARGV, FIELDS))
if lifetime ~= '0' then
  redis.call('PEXPIRE', META, lifetime)
end
return TKL_OK
