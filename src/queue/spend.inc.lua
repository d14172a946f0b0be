-- What was claimed uses up the rate.

if step and taken > 0 then
  redis.call('HSET', KEYS[1], 'full_at', string.format('%.3f', full_at + taken * step))
end
