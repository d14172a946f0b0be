-- hold/show: who holds, and how many wait.
-- KEYS[1] record   see hold/acquire
-- KEYS[2] holders
-- KEYS[3] queue
-- ARGV[1] most     holders to tell of
-- returns {mode, limit, held, waiting, now, then for each holder: "fence since who", lease end}

local time = redis.call('TIME')
local now = time[1] .. string.sub('000000' .. time[2], -6)
local rule = redis.call('HMGET', KEYS[1], 'mode', 'limit')
local held = redis.call('ZCOUNT', KEYS[2], '(' .. now, '+inf')
local answer = {rule[1] or 'x', rule[2] or '0', held, redis.call('ZCARD', KEYS[3]), now}
local live = redis.call('ZRANGE', KEYS[2], '(' .. now, '+inf', 'BYSCORE',
                        'LIMIT', 0, ARGV[1], 'WITHSCORES')
for i = 1, #live, 2 do
  answer[#answer + 1] = redis.call('HGET', KEYS[1], live[i])
  answer[#answer + 1] = live[i + 1]
end
return answer
