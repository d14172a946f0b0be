-- Unique keys: :u has the id of the job, and behind a space the end of the time for those that are held
-- for a time, which :v has by that time.

local function holder_of(unique)
  local id, till = string.match(redis.call('HGET', UNIQUE, unique) or '', '^(%x+) ?(%d*)$')
  return id and (till == '' or tonumber(till) > now) and id or nil
end

local function hold(unique, line, id)
  local span = string.match(line, ' f(%d+)')
  local till = span and string.format('%.0f', now + span)
  if unique ~= '' then
    redis.call('HSET', UNIQUE, unique, till and id .. ' ' .. till or id)
  end
  if unique ~= '' and till then
    redis.call('ZADD', TILL, till, unique)
  end
end

-- Forgets keys whose time is over: more than a push can add.
local function prune(most)
  for _, unique in ipairs(redis.call('ZRANGE', TILL, '-inf', stamp, 'BYSCORE',
                                     'LIMIT', 0, most)) do
    if not holder_of(unique) then
      redis.call('HDEL', UNIQUE, unique)
    end
    redis.call('ZREM', TILL, unique)
  end
end
