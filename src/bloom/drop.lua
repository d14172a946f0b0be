-- bloom/drop: remove a filter.
-- KEYS[1] meta
-- KEYS[2...] parts
-- ARGV[1] version  of the shape that the parts were made for
-- returns TKL_OK, TKL_NOTFOUND or TKL_BUSY (another shape)

local version = redis.call('HGET', KEYS[1], 'version')
if version ~= ARGV[1] then
  return version and 1 or 4
end
redis.call('UNLINK', KEYS[1], unpack(KEYS, 2))
return 0
