-- Whether there is anything that a push must heed: it looks at one field, which it mostly does not find,
-- before it looks at the others.

local held = redis.call('HMGET', KEYS[1], 'paused', 'max_jobs', 'max_bytes', 'concurrency', 'rate')
if held[1] or held[2] or held[3] or held[4] or held[5] then
  redis.call('HSET', KEYS[1], 'held', 1)
else
  redis.call('HDEL', KEYS[1], 'held')
end
