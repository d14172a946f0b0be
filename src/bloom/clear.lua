-- bloom/clear: remove old parts that may be left, before a sub-filter with these parts is made.
-- KEYS[1] meta      hash
-- KEYS[2...] parts  strings
-- ARGV[1] version   of the filter, which does not use the parts; '': there is no filter
-- flags: allow-oom
-- returns TKL_OK, or TKL_EXISTS when the filter has another version

local META, version = KEYS[1], ARGV[1]
if (redis.call('HGET', META, 'version') or '') ~= version then
  return TKL_EXISTS
end
redis.call('UNLINK', unpack(KEYS, 2))
return TKL_OK
