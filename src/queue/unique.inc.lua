-- Unique keys: UNIQUE has the job of each key, "id", or "id end" when it is held for a time.
-- include: jobs

local PRUNED = 20 -- keys whose time is over, removed by one script

-- The job that has a unique key.
local function holder_of(key)
  local id, till = string.match(redis.call('HGET', UNIQUE, key) or '', '^(%x+) ?(%d*)$')
  return id and (till == '' or tonumber(till) > now) and id or nil
end

-- Keys that are held for a time expire with the last of them, when there are no others.
local function let_unique_expire()
  local timed = redis.call('ZCARD', UNIQUE_ENDS)
  if timed == 0 then
    return
  end
  if redis.call('HLEN', UNIQUE) == timed then
    local last = text(redis.call('ZRANGE', UNIQUE_ENDS, 0, 0, 'REV', 'WITHSCORES')[2] + 1)
    redis.call('PEXPIREAT', UNIQUE, last)
    redis.call('PEXPIREAT', UNIQUE_ENDS, last)
  else
    redis.call('PERSIST', UNIQUE)
    redis.call('PERSIST', UNIQUE_ENDS)
  end
end

-- The key may belong to another job by now, or be held for a time whatever becomes of the job.
local function free_unique(key, id)
  if key ~= '' and redis.call('HGET', UNIQUE, key) == id then
    redis.call('HDEL', UNIQUE, key)
    let_unique_expire()
  end
end

-- Whoever holds keys calls let_unique_expire() in the end.
local function hold_unique(job, id)
  if job.unique_key == '' then
    return
  end
  local till = job.unique_ms and text(now + job.unique_ms)
  redis.call('HSET', UNIQUE, job.unique_key, till and id .. ' ' .. till or id)
  if till then
    redis.call('ZADD', UNIQUE_ENDS, till, job.unique_key)
  else
    redis.call('ZREM', UNIQUE_ENDS, job.unique_key)
  end
end

-- Forgets some of the keys whose time is over.
local function prune_unique()
  local over = redis.call('ZRANGE', UNIQUE_ENDS, '-inf', text(now), 'BYSCORE',
                          'LIMIT', 0, PRUNED)
  for _, key in ipairs(over) do
    if not holder_of(key) then
      redis.call('HDEL', UNIQUE, key)
    end
    redis.call('ZREM', UNIQUE_ENDS, key)
  end
end
