-- Jobs that were done: `n` of them in ARGV from 7 on, then as many lengths of records. The places of
-- those whose claims are not valid any more go into `stale`.

local held = redis.call('ZMSCORE', KEYS[5], unpack(ARGV, 7, n + 6))
local finished, bytes = {}, 0
for i = 1, n do
  if held[i] then
    finished[#finished + 1] = string.sub(ARGV[i + 6], 1, 13)
    bytes = bytes + ARGV[i + n + 6]
  else
    stale[#stale + 1] = i
  end
end
if finished[1] then
  redis.call('ZREM', KEYS[5], unpack(ARGV, 7, n + 6))
  redis.call('HDEL', KEYS[2], unpack(finished))
  redis.call('HINCRBY', KEYS[1], 'done', #finished)
  redis.call('HINCRBY', KEYS[1], 'bytes', string.format('%.0f', -bytes))
  if redis.call('EXISTS', KEYS[6]) == 1 then
    for i = 1, #finished do
      finished[#finished + 1] = 'p' .. finished[i]
    end
    redis.call('HDEL', KEYS[6], unpack(finished))
  end
end
