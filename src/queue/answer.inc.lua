-- Remembers the `answer` to this request.

if redis.call('HSET', here, ARGV[1], ARGV[2] .. ' ' .. answer) == 1 then
  redis.call('PEXPIREAT', here, string.format('%d', (window + 2) * WINDOW))
end
