-- bloom/recount: estimate how many items a sub-filter has after others were merged into it.
-- KEYS[1] meta     of the filter
-- KEYS[2...] parts of the sub-filter
-- ARGV[1] version  of the shape
-- ARGV[2] field    of the sub-filter's count in meta
-- ARGV[3] bits     of the sub-filter
-- ARGV[4] hashes   bits for each item
-- ARGV[5] least    how many it has for certain
-- returns TKL_OK, or TKL_BUSY when the shape is another
-- include: estimate

local meta = redis.call('HMGET', KEYS[1], 'version', ARGV[2])
if meta[1] ~= ARGV[1] then
  return 1
end
local set = 0
for i = 2, #KEYS do
  set = set + redis.call('BITCOUNT', KEYS[i])
end
local count = math.max(estimate(set, tonumber(ARGV[3]), tonumber(ARGV[4])), tonumber(meta[2]),
                       tonumber(ARGV[5]))
redis.call('HSET', KEYS[1], ARGV[2], string.format('%.0f', count))
return 0
