-- stats/slowest: the contexts with the largest means of this hour or the last.
-- KEYS[1...] type  see keys.inc.lua; without those of a context
-- ARGV[1] which  this or last
-- ARGV[2] max
-- returns {hour, count, sum of all, and context, mean of each}
-- include: keys
-- include: shared/hour
-- include: values
local which, max = ARGV[1], tonumber(ARGV[2])
local hour = hour_at(clock_us())

local total = read_named(TOTAL, {'hour', 'count', 'sum', 'last_hour', 'last_count', 'last_sum'}, {})
local age = age_of(total.hour, hour)
local ranking, answer = nil, {exact(which == 'this' and hour or hour - 1), '0', '0'}
if age == which then
  ranking, answer = RANK, {exact(total.hour), exact(total.count), exact(total.sum)}
elseif age == 'this' then -- and last hour's is asked for
  ranking, answer = RANK_LAST, {exact(total.last_hour), exact(total.last_count), exact(total.last_sum)}
end
if ranking and max > 0 then
  for _, part in ipairs(redis.call('ZREVRANGE', ranking, 0, max - 1, 'WITHSCORES')) do
    answer[#answer + 1] = part
  end
end
return answer
