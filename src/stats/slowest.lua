-- stats/slowest: the contexts with the largest means of this hour or the last.
-- KEYS[1...] type  see keys.inc.lua; without the keys of a context
-- ARGV[1] which  this or last
-- ARGV[2] max
-- flags: no-writes
-- returns {hour, count, sum of all, and context, mean of each}
-- include: keys
-- include: shared/hours
-- include: values

local FIELDS = {'hour', 'count', 'sum', 'last_hour', 'last_count', 'last_sum'}
local which, max = ARGV[1], tonumber(ARGV[2])

local hour = hours.at(clock.us())
local total = values.read_named(TOTAL, FIELDS, {})
local age = hours.age(total.hour, hour)
local ranking, found = nil, {which == 'this' and hour or hour - 1, 0, 0}
if age == which then
  ranking, found = RANK, {total.hour, total.count, total.sum}
elseif age == 'this' then -- and the caller asks for the last hour
  ranking, found = RANK_LAST, {total.last_hour, total.last_count, total.last_sum}
end
local answer = {}
for i, number in ipairs(found) do
  answer[i] = decimal.exact(number)
end
if ranking and max > 0 then
  for _, part in ipairs(redis.call('ZREVRANGE', ranking, 0, max - 1, 'WITHSCORES')) do
    answer[#answer + 1] = part
  end
end
return answer
