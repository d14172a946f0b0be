-- What the common cases need: the server's clock, whole numbers as texts, fences.
-- include: shared/clock
-- include: shared/codes
-- include: shared/exact

-- The modes of holders and waiters.
local EXCLUSIVE, SHARED = 'x', 's'
-- The standing of holders: unconfirmed after a hand-over, until the new holder has renewed its
-- lease.
local CONFIRMED, UNCONFIRMED = 'confirmed', 'unconfirmed'
-- The keys stay this long after the last lease, in milliseconds.
local LINGER_MS = 60000

-- The number in a text that is known to have digits only; nil when it would not be exact.
local function exact(text)
  local number = tonumber(text)
  return number and number < EXACT and number or nil
end

-- The number in a text of digits; nil for anything else.
local function whole(text)
  return text and string.match(text, '^%d+$') and exact(text)
end

local function digits(number)
  return string.format('%d', number)
end

-- How long the keys stay for a lease, for PEXPIRE.
local function stay_ms(lease)
  return digits(to_ms(lease) + LINGER_MS)
end

-- The next fence: greater than the last one, and not behind the clock.
local function fence_after(last, now)
  return math.max(last + 1, now)
end

-- The texts of a writer and of a sharer in the state: see hold.c.
local function writer_text(token, till, fence, since, standing, who)
  return string.format('%s %d %d %d %s %s', token, till, fence, since, standing, who)
end

local function sharer_text(fence, since, standing, who)
  return string.format('%d %d %s %s', fence, since, standing, who)
end

-- The fields of the state that have names: fence, limit, writer, sharing, waiting, looker.
local function read_fields()
  return redis.call('HMGET', STATE, 'fence', 'limit', 'writer', 'sharing', 'waiting', 'looker')
end
