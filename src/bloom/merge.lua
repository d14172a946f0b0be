-- bloom/merge: add what is in one sub-filter to another of the same shape.
-- KEYS[1] meta     of the filter that gets it
-- KEYS[2] meta     of the other
-- KEYS[3...] parts of the sub-filter that gets it, each with the other's behind it
-- ARGV[1] version  of the first
-- ARGV[2] version  of the second
-- ARGV[3] field    of the sub-filter's count in meta
-- ARGV[4] bits     of the sub-filter
-- ARGV[5] hashes   bits for each item
-- returns TKL_OK, or TKL_BUSY when one has another shape
-- include: estimate

if redis.call('HGET', KEYS[1], 'version') ~= ARGV[1]
    or redis.call('HGET', KEYS[2], 'version') ~= ARGV[2] then
  return 1
end
local set = 0
for i = 3, #KEYS, 2 do
  if redis.call('EXISTS', KEYS[i + 1]) == 1 then
    redis.call('BITOP', 'OR', KEYS[i], KEYS[i], KEYS[i + 1])
  end
  set = set + redis.call('BITCOUNT', KEYS[i])
end
local count = math.max(estimate(set, tonumber(ARGV[4]), tonumber(ARGV[5])),
                       tonumber(redis.call('HGET', KEYS[1], ARGV[3])),
                       tonumber(redis.call('HGET', KEYS[2], ARGV[3])))
redis.call('HSET', KEYS[1], ARGV[3], string.format('%.0f', count))
return 0
