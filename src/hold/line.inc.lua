-- Who holds and who is next. See the essay of hold.c for the keys. The server makes these functions
-- anew for every call: so they are few, and the common cases do without.

local FIRST_LEASE = 800000
local SLACK = 100000
local AT_MOST = 100
local LOOKERS = 4

-- The record is read once and written once, by save(); in between, these are the truth.
local was = redis.call('HMGET', KEYS[1], 'x', 'fence', 'limit', 'looker', 'look')
local x, fence, limit, looker, look = unpack(was)
local sharing = x and 0 or nil -- how many share; nil: not counted yet
local cards = {}               -- "fence since who" of those who share from now on
local keep                     -- milliseconds that the record must outlive the moment; nil: as before
local anew = not fence         -- ... even if that is less than before
local failure                  -- why nobody can be told anything: a matter of permissions

-- Every script that includes this ends with it, unless nothing has changed.
local function save()
  local changed = {}
  if x and x ~= was[1] then
    changed = {'x', x, 'fence', fence}
  elseif fence and fence ~= was[2] then
    changed = {'fence', fence}
  end
  if limit and limit ~= was[3] then
    changed[#changed + 1] = 'limit'
    changed[#changed + 1] = limit
  end
  if looker ~= was[4] or look ~= was[5] then
    changed[#changed + 1] = 'looker'
    changed[#changed + 1] = looker
    changed[#changed + 1] = 'look'
    changed[#changed + 1] = look
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

local function sharers()
  sharing = sharing or redis.call('ZCARD', KEYS[2])
  return sharing
end

-- Writes a holder down. No key may expire before its lease, nor before another's.
local function put(token, mode, lease, card)
  local ms = math.ceil(lease / 1000) + LINGER
  keep = math.max(keep or 0, ms)
  if mode == 'x' then
    x, anew = moment(now + lease) .. ' ' .. token .. ' ' .. card, true
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

-- Forgets a holder; false when it held nothing.
local function drop(token)
  if x then
    local held = string.sub(x, 18, 49) == token
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

-- Whether one more of that mode may hold.
local function room(mode)
  if x or limit and sharers() >= tonumber(limit) then
    return false
  end
  return mode == 's' or sharers() == 0
end

-- Publishes; how many heard it, or nil and `failure`. Always after a write has succeeded: on a server
-- that refuses writes nobody must be told of what was not written down.
local function tell(channel, word)
  local heard = redis.pcall('SPUBLISH', channel, word)
  if type(heard) == 'table' then
    failure = heard
    return nil
  end
  return heard
end

-- A machine that dies takes all of its waiters along, and so does a client, with which the channel
-- ends: how far apart is one who waits from those of this host and client?
local function apart(place, host, client)
  if string.match(place, '^%S+ ([^/]*)', 36) ~= host then
    return 2
  end
  return string.sub(place, -32) ~= client and 1 or 0
end

-- A lease that ends earlier than those who wait expect: tells one of them, unless one who does not
-- share the fate of the heir has promised to look in time. Of the last few, since they will wait
-- longest, the one farthest from the heir.
local function appoint(till, heir)
  local host, client = heir and string.match(heir, '^%S+ ([^/]*)', 36), string.sub(heir or '', -32)
  local at, promised = tonumber(look or 0), -1
  if at > now - SLACK and at <= till + SLACK and redis.call('ZSCORE', KEYS[3], looker) then
    promised = apart(looker, host, client)
  end
  for _ = 1, promised < 2 and AT_MOST or 0 do
    local last = redis.call('ZRANGE', KEYS[3], -LOOKERS, -1)
    local best, distance = nil, promised
    for i = #last, 1, -1 do
      local d = apart(last[i], host, client)
      if d > distance then
        best, distance = last[i], d
      end
    end
    if not best then
      return
    end
    local channel = string.match(best, '^%S+ %S+ (.*)$', 36)
    local heard = tell(channel, string.sub(best, 1, 32) .. ' look ' .. text(till - now))
    if heard ~= 0 then
      looker, look = heard and best or looker, heard and text(till) or look
      return
    end
    redis.call('ZREM', KEYS[3], best)
  end
end

-- Gives what is free to those who wait, in order. One whom nobody hears is gone: the next. True
-- when nobody waits any more.
local function hand_over()
  for _ = 1, AT_MOST do
    if not room('s') then
      return false
    end
    local first, place = unpack(redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES'))
    if not first then
      return true
    end
    local token, mode = string.sub(first, 1, 32), string.sub(first, 34, 34)
    local lease, who, channel = string.match(first, '^(%S+) (%S+) (.*)$', 36)
    local fits = room(mode)
    -- A writer who waits keeps later readers out, although readers hold; but not when it is gone.
    if not fits and redis.pcall('PUBSUB', 'SHARDNUMSUB', channel)[2] ~= 0 then
      return false
    end
    redis.call('ZREM', KEYS[3], first)
    if fits then
      local short = math.min(tonumber(lease), FIRST_LEASE)
      fence = next_fence(fence)
      local word = token .. ' grant ' .. fence .. ' ' .. stamp .. ' ' .. text(short)
      local heard = tell(channel, word)
      if not heard then
        redis.call('ZADD', KEYS[3], place, first)
        return false
      end
      if heard > 0 then
        put(token, mode, short, fence .. ' ' .. stamp .. ' ' .. who)
        appoint(now + short, first)
      end
    end
  end
  appoint(now) -- there may be more
  return false
end
