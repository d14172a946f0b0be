-- bloom/clear: remove what may be left of old parts, before a sub-filter is made of them.
-- KEYS[1] meta      hash
-- KEYS[2...] parts  strings
-- ARGV[1] version   that the filter has as long as it does not use them; '': there is none
-- returns TKL_OK, or TKL_EXISTS when the filter has another version
-- include: codes

if (redis.call('HGET', KEYS[1], 'version') or '') ~= ARGV[1] then
  return EXISTS
end
redis.call('UNLINK', unpack(KEYS, 2))
return OK
