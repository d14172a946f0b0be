-- bloom/count: raise the number of items of a sub-filter to at least an estimate, after a merge.
-- KEYS[1] meta     hash
-- ARGV[1] version  of the shape
-- ARGV[2] field    of the sub-filter's count in meta
-- ARGV[3] least    items
-- returns TKL_OK, or TKL_BUSY when the filter has another shape

local META = KEYS[1]
local shape, field, least = unpack(ARGV)

local version, count = unpack(redis.call('HMGET', META, 'version', field))
if version ~= shape then
  return TKL_BUSY
end
if (tonumber(count) or 0) < tonumber(least) then
  redis.call('HSET', META, field, least)
end
return TKL_OK
