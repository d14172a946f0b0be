-- The keys of a service, in the order in which every script gets them, and the leases of its
-- entries: those that have ended, those that are too long.
-- include: shared/clock
-- include: shared/decimal

local leases = {}

local LEASES = KEYS[1] -- zset of ids by the end of their lease, in milliseconds; also the channel
local OWNERS = KEYS[2] -- hash: id, token of the registration
local INFOS  = KEYS[3] -- hash: id, address, weight and metadata (entry.c)

local GRACE = 60000 -- how long the keys stay after the last lease, in milliseconds
local SOME = 100 -- most entries that one script removes or shortens

-- Removes entries.
function leases.remove(ids)
  redis.call('ZREM', LEASES, unpack(ids))
  redis.call('HDEL', OWNERS, unpack(ids))
  redis.call('HDEL', INFOS, unpack(ids))
end

-- Entries whose lease has ended.
function leases.ended(time)
  return redis.call('ZRANGEBYSCORE', LEASES, '-inf', decimal.whole(time), 'LIMIT', 0, SOME)
end

-- Shortens leases that are longer than the longest allowed one: they were given before the server's
-- clock was set back.
function leases.shorten(time)
  local latest = decimal.whole(time + TKL__SERVICE_LEASE_MAX_MS)
  local ids = redis.call('ZRANGEBYSCORE', LEASES, '(' .. latest, '+inf', 'LIMIT', 0, SOME)
  for _, id in ipairs(ids) do
    redis.call('ZADD', LEASES, latest, id)
  end
end

-- Keeps the keys for this lease, or for a longer one of another instance.
function leases.keep(lease)
  for _, key in ipairs({LEASES, OWNERS, INFOS}) do
    if redis.call('PTTL', key) < lease + GRACE / 2 then
      redis.call('PEXPIRE', key, decimal.whole(lease + GRACE))
    end
  end
end

-- Gives an entry a new lease, and removes entries whose leases have ended.
function leases.prolong(id, time, lease, gone)
  redis.call('ZADD', LEASES, decimal.whole(time + lease), id)
  for i = #gone, 1, -1 do
    if gone[i] == id then
      table.remove(gone, i)
    end
  end
  if #gone > 0 then
    leases.remove(gone)
  end
  leases.shorten(time)
  leases.keep(lease)
end
