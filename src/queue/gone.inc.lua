-- What is `finished` is gone.

if finished[1] then
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
