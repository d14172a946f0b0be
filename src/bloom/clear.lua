-- bloom/clear: remove what may be left of old parts, before a sub-filter is made of them.
-- KEYS[1] meta      hash
-- KEYS[2...] parts  strings
-- ARGV[1] version   that the filter has as long as it does not use them; '': there is none
-- flags: allow-oom
-- returns TKL_OK, or TKL_EXISTS when the filter has another version

local META, version = KEYS[1], ARGV[1]
if (redis.call('HGET', META, 'version') or '') ~= version then
  return TKL_EXISTS
end
redis.call('UNLINK', unpack(KEYS, 2))
return TKL_OK
