-- bloom/keep: prolong the lives of meta and some parts.
-- KEYS[1] meta      hash
-- KEYS[2...] parts  strings
-- ARGV[1] version   of the shape that has these parts
-- ARGV[2] lifetime  in milliseconds, from now
-- flags: allow-oom
-- returns TKL_OK, TKL_NOTFOUND or TKL_BUSY (another shape)

local META = KEYS[1]
local shape, lifetime = unpack(ARGV)

local version = redis.call('HGET', META, 'version')
if version ~= shape then
  return version and TKL_BUSY or TKL_NOTFOUND
end
for _, key in ipairs(KEYS) do
  redis.call('PEXPIRE', key, lifetime)
end
return TKL_OK
