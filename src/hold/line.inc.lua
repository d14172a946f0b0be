-- Who holds and who is next. See the essay of hold.c for the keys.

local FIRST_LEASE = 800000
local QUEUE_MS = 900000
local SLACK = 100000
local AT_MOST = 100
local LOOKERS = 4
local WRITER_CHECK = 900000

-- The one who holds alone: token, end of the lease, "fence since who".
local function writer()
  local x = redis.call('HGET', KEYS[1], 'x')
  if x then
    return string.sub(x, 18, 49), tonumber(string.sub(x, 1, 16)), string.sub(x, 51)
  end
end

-- The end of a holder's lease, and its "fence since who"; nil when it holds nothing.
local function find(token)
  local alone, till, card = writer()
  if alone then
    return alone == token and till or nil, card
  end
  till = redis.call('ZSCORE', KEYS[2], token)
  if till then
    return tonumber(till), redis.call('HGET', KEYS[1], token)
  end
end

-- Writes a holder down. No key may expire before its lease, nor before another's.
local function put(token, mode, lease, card)
  local ms = text(math.ceil(lease / 1000) + LINGER)
  if mode == 'x' then
    redis.call('HSET', KEYS[1], 'x', text(now + lease) .. ' ' .. token .. ' ' .. card)
    redis.call('PEXPIRE', KEYS[1], ms)
    return
  end
  redis.call('ZADD', KEYS[2], text(now + lease), token)
  redis.call('HSET', KEYS[1], token, card)
  if redis.call('ZCARD', KEYS[2]) == 1 then
    redis.call('PEXPIRE', KEYS[1], ms)
    redis.call('PEXPIRE', KEYS[2], ms)
  else
    redis.call('PEXPIRE', KEYS[1], ms, 'GT')
    redis.call('PEXPIRE', KEYS[2], ms, 'GT')
    redis.call('PEXPIRE', KEYS[1], ms, 'NX') -- should the server have evicted it
  end
end

-- Makes a new holder and returns its fence.
local function take(token, mode, lease, who)
  local fence = next_fence(redis.call('HGET', KEYS[1], 'fence'))
  redis.call('HSET', KEYS[1], 'fence', fence)
  put(token, mode, lease, fence .. ' ' .. stamp .. ' ' .. who)
  return fence
end

-- Forgets a holder.
local function drop(token)
  if redis.call('ZREM', KEYS[2], token) == 1 then
    redis.call('HDEL', KEYS[1], token)
  elseif writer() == token then
    redis.call('HDEL', KEYS[1], 'x')
  end
end

-- The earliest end of a lease; nil when nobody holds.
local function first_end()
  local _, till = writer()
  return till or tonumber(redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2])
end

-- Forgets the holders whose lease has ended.
local function sweep()
  local alone, till = writer()
  if alone and till <= now then
    redis.call('HDEL', KEYS[1], 'x')
  end
  local ended = redis.call('ZRANGE', KEYS[2], '-inf', stamp, 'BYSCORE', 'LIMIT', 0, AT_MOST)
  if #ended > 0 then
    redis.call('ZREM', KEYS[2], unpack(ended))
    redis.call('HDEL', KEYS[1], unpack(ended))
  end
end

-- Whether one more of that mode may hold.
local function room(mode)
  local rule = redis.call('HMGET', KEYS[1], 'x', 'limit')
  if rule[1] then
    return false
  end
  local held = redis.call('ZCARD', KEYS[2])
  return held == 0 or mode == 's' and (not rule[2] or held < tonumber(rule[2]))
end

-- When nobody waits: the keys stay for the longest lease, and the record for the fence.
local function settle()
  local last = redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')[2]
  local lease = last and math.max(tonumber(last) - now, 0) or 0
  local ms = text(math.ceil(lease / 1000) + LINGER)
  redis.call('PEXPIRE', KEYS[1], ms)
  redis.call('PEXPIRE', KEYS[2], ms)
end

-- Who waits: token, mode, lease, who, channel.
local function parts(place)
  return string.match(place, '^(%S+) (%S+) (%S+) (%S+) (.*)$')
end

-- A machine or a process that dies takes all of its waiters along: how far apart are two of them?
local function apart(a, b)
  if not b then
    return 2
  end
  local _, _, _, who_a, channel_a = parts(a)
  local _, _, _, who_b, channel_b = parts(b)
  if string.match(who_a, '^[^/]*') ~= string.match(who_b, '^[^/]*') then
    return 2
  end
  return channel_a ~= channel_b and 1 or 0
end

-- Of the last few, since they will wait longest, the one farthest from the heir.
local function farthest(heir)
  local last = redis.call('ZRANGE', KEYS[3], -LOOKERS, -1)
  local best, distance = nil, -1
  for i = #last, 1, -1 do
    local d = apart(last[i], heir)
    if d > distance then
      best, distance = last[i], d
    end
  end
  return best, distance
end

-- A lease that ends earlier than those who wait expect: tells one of them, unless one who does not
-- share the fate of the heir has promised to look in time.
local function appoint(till, heir)
  local promise = redis.call('HMGET', KEYS[1], 'looker', 'look')
  local look, promised = tonumber(promise[2] or 0), -1
  if look > now - SLACK and look <= till + SLACK and redis.call('ZSCORE', KEYS[3], promise[1]) then
    promised = apart(promise[1], heir)
  end
  for _ = 1, promised < 2 and AT_MOST or 0 do
    local best, distance = farthest(heir)
    if distance <= promised then
      return
    end
    local token, _, _, _, channel = parts(best)
    if redis.call('SPUBLISH', channel, token .. ' look ' .. text(till - now)) > 0 then
      redis.call('HSET', KEYS[1], 'looker', best, 'look', text(till))
      return
    end
    redis.call('ZREM', KEYS[3], best)
  end
end

-- A writer who waits keeps later readers out, although readers hold; but not when it is gone.
local function blocks_for_nothing(mode, channel)
  return mode == 'x' and redis.call('EXISTS', KEYS[2]) == 1
    and redis.call('PUBSUB', 'SHARDNUMSUB', channel)[2] == 0
end

-- Gives what is free to those who wait, in order. One whom nobody hears is gone: the next.
local function hand_over()
  for _ = 1, AT_MOST do
    local first = redis.call('ZRANGE', KEYS[3], 0, 0)[1]
    if not first then
      return
    end
    local token, mode, lease, who, channel = parts(first)
    local fits = room(mode)
    if not fits and not blocks_for_nothing(mode, channel) then
      return
    end
    redis.call('ZREM', KEYS[3], first)
    if fits then
      local short = math.min(tonumber(lease), FIRST_LEASE)
      local fence = take(token, mode, short, who)
      local word = token .. ' grant ' .. fence .. ' ' .. stamp .. ' ' .. text(short)
      if redis.call('SPUBLISH', channel, word) == 0 then
        drop(token)
      else
        appoint(now + short, first)
      end
    end
  end
  appoint(now) -- there may be more
end
