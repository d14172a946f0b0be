-- hold/show: who holds, and how many wait.
-- KEYS[1] record   see hold/acquire
-- KEYS[2] holders
-- KEYS[3] queue
-- ARGV[1] most     holders to tell of
-- returns {mode, limit, held, waiting, now, then for each holder: "fence since who", lease end}
-- include: clock
-- include: count

local rule = redis.call('HMGET', KEYS[1], 'x', 'limit')
local answer = {'x', rule[2] or '0', 0, redis.call('ZCARD', KEYS[3]), stamp}
if rule[1] and tonumber(string.sub(rule[1], 1, 16)) > now then
  answer[3] = 1
  answer[6] = string.sub(rule[1], 51)
  answer[7] = string.sub(rule[1], 1, 16)
  return answer
end
answer[3] = redis.call('ZCOUNT', KEYS[2], '(' .. stamp, '+inf')
answer[1] = answer[3] > 0 and 's' or 'x'
local live = redis.call('ZRANGE', KEYS[2], '(' .. stamp, '+inf', 'BYSCORE',
                        'LIMIT', 0, ARGV[1], 'WITHSCORES')
for i = 1, #live, 2 do
  answer[#answer + 1] = redis.call('HGET', KEYS[1], live[i])
  answer[#answer + 1] = live[i + 1]
end
return answer
