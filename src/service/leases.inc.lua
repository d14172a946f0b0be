-- Leases of a service's entries: those that have ended, those that are too long.

local LEASE_MAX = 300000 -- milliseconds
local SOME = 100 -- entries that one script tidies up at most

local function remove(leases, owners, infos, ids)
  redis.call('ZREM', leases, unpack(ids))
  redis.call('HDEL', owners, unpack(ids))
  redis.call('HDEL', infos, unpack(ids))
end

-- Entries whose lease has ended.
local function ended(leases, time)
  return redis.call('ZRANGEBYSCORE', leases, '-inf', string.format('%d', time), 'LIMIT', 0, SOME)
end

-- Leases that last longer than any lease does were given before the server's clock was set back.
local function shorten(leases, time)
  local latest = string.format('%d', time + LEASE_MAX)
  local ids = redis.call('ZRANGEBYSCORE', leases, '(' .. latest, '+inf', 'LIMIT', 0, SOME)
  for _, id in ipairs(ids) do
    redis.call('ZADD', leases, latest, id)
  end
end
