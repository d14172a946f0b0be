-- When nobody waits: the keys stay for the longest lease that is left.

local last = not x and redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')[2]
if last then
  local ms = math.ceil(math.max(last - now, 0) / 1000)
  alive, moved = string.format('%013d', now_ms + ms + LINGER), true
end
