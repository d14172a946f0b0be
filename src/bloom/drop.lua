-- bloom/drop: remove some parts of a filter; with the last parts also the filter. Until then it is
-- marked, and a caller that wants to make a new filter drops the rest first.
-- KEYS[1] meta      hash
-- KEYS[2...] parts  strings
-- ARGV[1] version   of the shape that has these parts
-- ARGV[2] last      1: these are the last parts; 0: others follow
-- flags: allow-oom
-- returns TKL_OK, TKL_NOTFOUND or TKL_BUSY (another shape)

local META = KEYS[1]
local shape, last = unpack(ARGV)

local version = redis.call('HGET', META, 'version')
if version ~= shape then
  return version and TKL_BUSY or TKL_NOTFOUND
end
if last == '1' then
  redis.call('UNLINK', META)
else
  redis.call('HSET', META, 'dropping', '1')
end
redis.call('UNLINK', unpack(KEYS, 2))
return TKL_OK
