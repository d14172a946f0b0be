-- Who holds. See the essay of hold.c for the keys. The server makes these functions anew for every
-- call: so they are few, and the common cases do without.

local AT_MOST = 100

-- The record is read once and written once, by save(); in between, these are the truth.
local was = redis.call('HMGET', KEYS[1], 'x', 'fence', 'limit', 'looker', 'look')
local x, fence, limit, looker, look = unpack(was)
local sharing = x and 0 or nil -- how many share; nil: not counted yet
local cards = {}               -- "fence since who" of those who share from now on
local keep                     -- milliseconds that the record must outlive the moment; nil: as before
local anew = not fence         -- ... even if that is less than before

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
