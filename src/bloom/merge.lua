-- bloom/merge: set the bits of a part in the same part of another filter.
-- KEYS[1] meta      hash of the filter that gets them
-- KEYS[2] meta      hash of the other
-- KEYS[3] part      of the filter that gets them
-- KEYS[4] part      of the other
-- ARGV[1] version   of the filter that gets them
-- ARGV[2] version   of the other
-- ARGV[3] lifetime  of the part in milliseconds; 0: for ever
-- returns TKL_OK, or TKL_BUSY when one of them has another shape

local META, SOURCE_META, PART, SOURCE_PART = unpack(KEYS)
local version, source_version, lifetime = unpack(ARGV)

if redis.call('HGET', META, 'version') ~= version
    or redis.call('HGET', SOURCE_META, 'version') ~= source_version then
  return TKL_BUSY
end
if redis.call('EXISTS', SOURCE_PART) == 1 then
  redis.call('BITOP', 'OR', PART, PART, SOURCE_PART)
  if lifetime ~= '0' then
    redis.call('PEXPIRE', PART, lifetime)
  end
end
return TKL_OK
