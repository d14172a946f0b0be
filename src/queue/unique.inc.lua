-- Unique keys: UNIQUE has the job of each key, "id", or "id end" when it is held for a time.
-- include: jobs
-- include: shared/ranked

local unique = {}

local PRUNED = 20 -- expired keys that one script removes

-- The job that has a unique key.
function unique.holder_of(key)
  local id, till = string.match(redis.call('HGET', UNIQUE, key) or '', '^(%x+) ?(%d*)$')
  return id and (till == '' or tonumber(till) > now) and id or nil
end

-- Lets the keys expire with the last unique key that is held for a time, unless other unique keys
-- exist.
function unique.let_expire()
  local timed = redis.call('ZCARD', UNIQUE_ENDS)
  if timed == 0 then
    return
  end
  if redis.call('HLEN', UNIQUE) == timed then
    local last = decimal.whole(redis.call('ZRANGE', UNIQUE_ENDS, 0, 0, 'REV', 'WITHSCORES')[2] + 1)
    redis.call('PEXPIREAT', UNIQUE, last)
    redis.call('PEXPIREAT', UNIQUE_ENDS, last)
  else
    redis.call('PERSIST', UNIQUE)
    redis.call('PERSIST', UNIQUE_ENDS)
  end
end

-- Frees the unique key of a job, unless another job has taken it, or it is held for a time.
function unique.free(key, id)
  if key ~= '' and redis.call('HGET', UNIQUE, key) == id then
    redis.call('HDEL', UNIQUE, key)
    unique.let_expire()
  end
end

-- Gives a job its unique key. The script calls unique.let_expire() after the last job.
function unique.hold(job, id)
  if job.unique_key == '' then
    return
  end
  local till = job.unique_ms and decimal.whole(now + job.unique_ms)
  redis.call('HSET', UNIQUE, job.unique_key, till and id .. ' ' .. till or id)
  if till then
    redis.call('ZADD', UNIQUE_ENDS, till, job.unique_key)
  else
    redis.call('ZREM', UNIQUE_ENDS, job.unique_key)
  end
end

-- Removes some of the expired keys.
function unique.prune()
  for _, key in ipairs(ranked.up_to(UNIQUE_ENDS, now, PRUNED)) do
    if not unique.holder_of(key) then
      redis.call('HDEL', UNIQUE, key)
    end
    redis.call('ZREM', UNIQUE_ENDS, key)
  end
end
