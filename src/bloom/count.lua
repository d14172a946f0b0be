-- bloom/count: after a merge, a sub-filter has at least so many items.
-- KEYS[1] meta     hash
-- ARGV[1] version  of the shape
-- ARGV[2] field    of the sub-filter's count in meta
-- ARGV[3] least    items
-- returns TKL_OK, or TKL_BUSY when the shape is another
-- include: codes

local version, count = unpack(redis.call('HMGET', KEYS[1], 'version', ARGV[2]))
if version ~= ARGV[1] then
  return BUSY
end
if (tonumber(count) or 0) < tonumber(ARGV[3]) then
  redis.call('HSET', KEYS[1], ARGV[2], ARGV[3])
end
return OK
