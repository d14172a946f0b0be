-- hold/show: who holds, and how many wait.
-- KEYS[1] record   see hold/acquire
-- KEYS[2] holders
-- KEYS[3] queue
-- KEYS[4] cards
-- ARGV[1] most     holders to tell of
-- returns {mode, limit, held, waiting, now, then for each holder: "fence since who", lease end}
-- include: clock
-- include: count

local record = redis.call('GET', KEYS[1])
-- include: record

local answer = {'x', limit ~= '-' and limit or '0', 0, redis.call('LLEN', KEYS[3]), stamp}
if x and tonumber(string.sub(x, 1, 16)) > now then
  answer[1], answer[3] = string.sub(x, 51, 51), 1
  answer[6], answer[7] = string.sub(x, 53), string.sub(x, 1, 16)
  return answer
end
answer[3] = redis.call('ZCOUNT', KEYS[2], '(' .. stamp, '+inf')
answer[1] = answer[3] > 0 and 's' or 'x'
local live = redis.call('ZRANGE', KEYS[2], '(' .. stamp, '+inf', 'BYSCORE',
                        'LIMIT', 0, ARGV[1], 'WITHSCORES')
for i = 1, #live, 2 do
  answer[#answer + 1] = redis.call('HGET', KEYS[4], live[i])
  answer[#answer + 1] = live[i + 1]
end
return answer
