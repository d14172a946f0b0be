-- Flows: a job that is over is not waited for any more.

redis.call('ZCARD', FLOW) -- must not fail later

-- Those for whom it was the last to wait for are ready, or wait for their time.
local function tell_parents(id)
  local parents = redis.call('HGET', EXTRAS, 'c' .. id)
  for parent in string.gmatch(parents or '', '%x+') do
    if redis.call('ZSCORE', FLOW, parent) and redis.call('ZINCRBY', FLOW, -1, parent) == '0' then
      local score, due = string.match(redis.call('HGET', EXTRAS, 'd' .. parent), '(%S+) (%d+)')
      redis.call('ZREM', FLOW, parent)
      redis.call('HDEL', EXTRAS, 'd' .. parent)
      if tonumber(due) > now then
        redis.call('ZADD', DELAYED, due, parent)
        soonest = math.min(soonest or due + 0, due + 0)
      else
        redis.call('ZADD', READY, score, parent)
      end
    end
  end
end
