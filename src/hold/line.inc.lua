-- Who holds and who is next. See the essay of hold.c for the keys.

local FIRST_LEASE = 800000
local QUEUE_MS = 900000
local SLACK = 100000
local AT_MOST = 100
local LOOKERS = 4
local WRITER_CHECK = 900000

local sharing = x and 0 or nil -- how many share; nil: not counted yet
local cards = {}               -- "fence since who" of those who share from now on
local keep                     -- milliseconds that the record must outlive the moment; nil: as before
local anew = not fence         -- ... or less than before

-- Writes the record. Every script that includes this ends with it, unless nothing has changed.
local function save()
  local values, changed = {x, fence, limit, arrivals, looker, look}, {}
  for i = 1, #FIELDS do
    if values[i] and values[i] ~= was[i] then
      changed[#changed + 1] = FIELDS[i]
      changed[#changed + 1] = values[i]
    end
  end
  for token, card in pairs(cards) do
    changed[#changed + 1] = token
    changed[#changed + 1] = card
  end
  if was[1] and not x then
    redis.call('HDEL', KEYS[1], 'x')
  end
  if #changed > 0 then
    redis.call('HSET', KEYS[1], unpack(changed))
  end
  if keep and anew then
    redis.call('PEXPIRE', KEYS[1], text(keep))
  elseif keep then
    redis.call('PEXPIRE', KEYS[1], text(keep), 'GT')
  elseif anew then
    redis.call('PEXPIRE', KEYS[1], QUEUE_MS, 'NX')
  end
end

-- The one who holds alone: token, end of the lease, "fence since who".
local function writer()
  if x then
    return string.sub(x, 18, 49), tonumber(string.sub(x, 1, 16)), string.sub(x, 51)
  end
end

local function sharers()
  sharing = sharing or redis.call('ZCARD', KEYS[2])
  return sharing
end

-- The end of a holder's lease, and its "fence since who"; nil when it holds nothing.
local function find(token)
  local alone, till, card = writer()
  if alone then
    return alone == token and till or nil, card
  end
  till = sharing ~= 0 and redis.call('ZSCORE', KEYS[2], token)
  if till then
    return tonumber(till), cards[token] or redis.call('HGET', KEYS[1], token)
  end
end

-- Writes a holder down. No key may expire before its lease, nor before another's.
local function put(token, mode, lease, card)
  local ms = math.ceil(lease / 1000) + LINGER
  keep = math.max(keep or 0, ms)
  if mode == 'x' then
    x, anew = text(now + lease) .. ' ' .. token .. ' ' .. card, true
    return
  end
  sharing = sharers() + redis.call('ZADD', KEYS[2], text(now + lease), token)
  cards[token] = card
  if sharing == 1 then
    anew = true
    redis.call('PEXPIRE', KEYS[2], text(ms))
  else
    redis.call('PEXPIRE', KEYS[2], text(ms), 'GT')
  end
end

-- Makes a new holder.
local function take(token, mode, lease, who)
  fence = next_fence(fence)
  put(token, mode, lease, fence .. ' ' .. stamp .. ' ' .. who)
end

-- Forgets a holder; false when it held nothing.
local function drop(token)
  if x then
    local held = writer() == token
    x = not held and x
    return held
  end
  local held = redis.call('ZREM', KEYS[2], token) == 1
  if held then
    cards[token] = nil
    sharing = sharing and sharing - 1
    redis.call('HDEL', KEYS[1], token)
  end
  return held
end

-- The earliest end of a lease; nil when nobody holds.
local function first_end()
  if x then
    return tonumber(string.sub(x, 1, 16))
  end
  local first = sharing ~= 0 and redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2]
  if not first then
    sharing = 0
    return nil
  end
  return tonumber(first)
end

-- Forgets the holders whose lease has ended.
local function sweep()
  local till = first_end()
  if not till or till > now then
    return
  end
  if x then
    x = false
    return
  end
  local ended = redis.call('ZRANGE', KEYS[2], '-inf', stamp, 'BYSCORE', 'LIMIT', 0, AT_MOST)
  redis.call('ZREM', KEYS[2], unpack(ended))
  redis.call('HDEL', KEYS[1], unpack(ended))
  sharing = nil
end

-- Whether nobody else may hold, of whatever mode.
local function full()
  return x or limit and sharers() >= tonumber(limit)
end

-- Whether one more of that mode may hold.
local function room(mode)
  return not full() and (mode == 's' or sharers() == 0)
end

-- When nobody waits: the keys stay for the longest lease, and the record for the fence.
local function settle()
  local last = not x and redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')[2]
  local lease = last and math.max(tonumber(last) - now, 0) or 0
  keep, anew = math.ceil(lease / 1000) + LINGER, true
  redis.call('PEXPIRE', KEYS[2], text(keep))
end

-- Who waits: token, mode, lease, who, channel.
local function parts(place)
  return string.sub(place, 1, 32), string.sub(place, 34, 34),
         string.match(place, '^(%S+) (%S+) (.*)$', 36)
end

-- What a waiter's life depends on: its machine; its client, with which the channel ends.
local function ties(place)
  return string.match(place, '^%S+ ([^/]*)', 36), string.sub(place, -32)
end

-- A machine or a process that dies takes all of its waiters along: how far apart are two of them?
local function apart(place, host, client)
  local its_host, its_client = ties(place)
  return its_host ~= host and 2 or its_client ~= client and 1 or 0
end

-- Of the last few, since they will wait longest, the one farthest from the heir.
local function farthest(host, client)
  local last = redis.call('ZRANGE', KEYS[3], -LOOKERS, -1)
  local best, distance = nil, -1
  for i = #last, 1, -1 do
    local d = apart(last[i], host, client)
    if d > distance then
      best, distance = last[i], d
    end
  end
  return best, distance
end

-- A lease that ends earlier than those who wait expect: tells one of them, unless one who does not
-- share the fate of the heir has promised to look in time.
local function appoint(till, heir)
  local host, client, promised = nil, nil, -1
  if heir then
    host, client = ties(heir)
  end
  local at = look and tonumber(look) or 0
  if at > now - SLACK and at <= till + SLACK and redis.call('ZSCORE', KEYS[3], looker) then
    promised = apart(looker, host, client)
  end
  for _ = 1, promised < 2 and AT_MOST or 0 do
    local best, distance = farthest(host, client)
    if distance <= promised then
      return
    end
    local token, _, _, _, channel = parts(best)
    if redis.call('SPUBLISH', channel, token .. ' look ' .. text(till - now)) > 0 then
      looker, look = best, text(till)
      return
    end
    redis.call('ZREM', KEYS[3], best)
  end
end

-- A writer who waits keeps later readers out, although readers hold; but not when it is gone.
local function blocks_for_nothing(mode, channel)
  return mode == 'x' and sharers() > 0 and redis.call('PUBSUB', 'SHARDNUMSUB', channel)[2] == 0
end

-- Makes one who waited a holder, if it is there to hear it.
local function grant(place, token, mode, lease, who, channel)
  local short = math.min(tonumber(lease), FIRST_LEASE)
  take(token, mode, short, who)
  local word = token .. ' grant ' .. fence .. ' ' .. stamp .. ' ' .. text(short)
  if redis.call('SPUBLISH', channel, word) == 0 then
    drop(token)
  else
    appoint(now + short, place)
  end
end

-- Gives what is free to those who wait, in order. One whom nobody hears is gone: the next. True
-- when nobody waits any more.
local function hand_over()
  for _ = 1, AT_MOST do
    if full() then
      return false
    end
    local first = redis.call('ZRANGE', KEYS[3], 0, 0)[1]
    if not first then
      return true
    end
    local token, mode, lease, who, channel = parts(first)
    local fits = room(mode)
    if not fits and not blocks_for_nothing(mode, channel) then
      return false
    end
    redis.call('ZREM', KEYS[3], first)
    if fits then
      grant(first, token, mode, lease, who, channel)
    end
  end
  appoint(now) -- there may be more
  return false
end
