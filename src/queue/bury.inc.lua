-- To the dead letters, of which a number and an age are kept. A few more than one go at a time;
-- nobody waits for them any more.

redis.call('ZCARD', KEYS[8]) -- must not fail later
local function bury(id, failures, why)
  local rule = redis.call('HMGET', KEYS[1], 'dead_max', 'dead_ms')
  redis.call('ZADD', KEYS[8], stamp, id)
  redis.call('HSET', KEYS[6], id, failures .. ' ' .. why)
  local most, age = tonumber(rule[1] or 10000), tonumber(rule[2] or 2592000000)
  local over = redis.call('ZCARD', KEYS[8]) - most
  local old = redis.call('ZRANGE', KEYS[8], 0, 9, 'WITHSCORES')
  for i = 1, #old, 2 do
    if (i + 1) / 2 <= over or tonumber(old[i + 1]) <= now - age then
      redis.call('ZREM', KEYS[8], old[i])
      local bytes = redis.call('HSTRLEN', KEYS[2], old[i]) -- 0 if somebody removed it
      redis.call('HINCRBY', KEYS[1], 'bytes', string.format('%d', -bytes)) -- no "-0"
      redis.call('HDEL', KEYS[2], old[i])
      tell_parents(old[i])
      redis.call('HDEL', KEYS[6], old[i], 'p' .. old[i], 'c' .. old[i])
    end
  end
end
