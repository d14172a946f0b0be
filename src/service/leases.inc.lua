-- The keys of a service, in the order in which every script gets them, and the leases of its
-- entries: those that have ended, those that are too long.
--   LEASES  zset of ids by the end of their lease, in milliseconds; also the channel
--   OWNERS  hash: id, token of the registration
--   INFOS   hash: id, address, weight and metadata (entry.c)

local LEASES, OWNERS, INFOS = unpack(KEYS)

local LEASE_MAX = 300000 -- milliseconds
local SOME = 100 -- entries that one script tidies up at most

local function remove(ids)
  redis.call('ZREM', LEASES, unpack(ids))
  redis.call('HDEL', OWNERS, unpack(ids))
  redis.call('HDEL', INFOS, unpack(ids))
end

-- Entries whose lease has ended.
local function ended(time)
  return redis.call('ZRANGEBYSCORE', LEASES, '-inf', string.format('%d', time), 'LIMIT', 0, SOME)
end

-- Leases that last longer than any lease does were given before the server's clock was set back.
local function shorten(time)
  local latest = string.format('%d', time + LEASE_MAX)
  local ids = redis.call('ZRANGEBYSCORE', LEASES, '(' .. latest, '+inf', 'LIMIT', 0, SOME)
  for _, id in ipairs(ids) do
    redis.call('ZADD', LEASES, latest, id)
  end
end
