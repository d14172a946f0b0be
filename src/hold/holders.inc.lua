-- Who holds. The only holder is kept in the record, as `x`, whether it is ready to share or not;
-- several are kept among the holders.

-- The next fence: ahead of the last, even where the clock was set back. Sixteen digits compare as
-- numbers do.
local function next_fence()
  fence = fence < stamp and stamp or moment(fence + 1)
  return fence
end

local function join(token, till, card)
  moved = moved or sharers() == 0 -- new keys
  redis.call('HSET', KEYS[4], token, card) -- first, here and below: it may be of another type
  sharing = sharers() + redis.call('ZADD', KEYS[2], till, token)
end

-- Writes a holder down. No key may expire before its lease, nor before another's.
local function put(token, mode, lease, card)
  local ms = math.ceil(lease / 1000) + LINGER
  local till = moment(now + lease)
  if x and string.sub(x, 18, 49) == token or sharers() == 0 then
    x, sharing = till .. ' ' .. token .. ' ' .. mode .. ' ' .. card, 0
    if waits == '-' then
      alive = string.format('%013d', now_ms + ms)
    end
    return live(ms)
  end
  live(ms)
  if x then
    local first = x
    x = nil
    join(string.sub(first, 18, 49), string.sub(first, 1, 16), string.sub(first, 53))
  end
  join(token, till, card)
end

-- Forgets a holder; false when it held nothing.
local function drop(token)
  if x then
    local held = string.sub(x, 18, 49) == token
    x = not held and x or nil
    return held
  end
  redis.call('HDEL', KEYS[4], token)
  local held = redis.call('ZREM', KEYS[2], token) == 1
  if held then
    sharing = sharing and sharing - 1
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
    x = nil
    return
  end
  local ended = redis.call('ZRANGE', KEYS[2], '-inf', stamp, 'BYSCORE', 'LIMIT', 0, AT_MOST)
  redis.call('HDEL', KEYS[4], unpack(ended))
  redis.call('ZREM', KEYS[2], unpack(ended))
  sharing = nil
end

-- Whether one more of that mode may hold.
local function room(mode)
  if x and string.sub(x, 51, 51) == 'x' or limit ~= '-' and sharers() >= tonumber(limit) then
    return false
  end
  return mode == 's' or sharers() == 0
end
