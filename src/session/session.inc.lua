-- The sessions of a store. The keys are explained in session.c: SESSIONS, ENDS and USERS are named by
-- the script.

-- Results, as the C code knows them.
local OK, NOT_FOUND = 0, 4

local FOREIGN = 'DAMAGED the store holds something that tackle did not write'

-- The server's clock, in microseconds.
local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

local function to_ms(microseconds)
  return math.floor(microseconds / 1000)
end

local function digits(number)
  return string.format('%d', number)
end

-- "created ttl user": when it was made, how long it lives without use, whose it is.
local function session_text(created, ttl, user)
  return digits(created) .. ' ' .. digits(ttl) .. ' ' .. user
end

local function read_session(text)
  local created, ttl, user = string.match(text, '^(%d+) (%d+) (.+)$')
  if not created then
    error({err = FOREIGN})
  end
  return tonumber(created), tonumber(ttl), user
end

-- The sessions of a user stand side by side among USERS.
local function user_prefix(user)
  return #user .. ':' .. user .. ':'
end

-- Forgets a session, whether it has ended or not.
local function forget(id)
  local text = redis.call('HGET', SESSIONS, id)
  redis.call('ZREM', ENDS, id)
  redis.call('HDEL', SESSIONS, id)
  if text then
    local _, _, user = read_session(text)
    redis.call('ZREM', USERS, user_prefix(user) .. id)
  end
end

-- Forgets up to `most` sessions that have ended; returns their ids.
local function forget_ended(now_ms, most)
  local ended = redis.call('ZRANGE', ENDS, '-inf', digits(now_ms), 'BYSCORE', 'LIMIT', '0', most)
  for _, id in ipairs(ended) do
    forget(id)
  end
  return ended
end

-- The session with this id as {created, ttl, user, ends}; nil when it has ended.
local function find(id, now_ms)
  local text = redis.call('HGET', SESSIONS, id)
  local ends = text and tonumber(redis.call('ZSCORE', ENDS, id) or 0)
  if not text or ends <= now_ms then
    return nil
  end
  local created, ttl, user = read_session(text)
  return {created = created, ttl = ttl, user = user, ends = ends}
end

-- A session lives until then. The keys of the store live as long as its last session.
local function prolong(id, ends)
  redis.call('ZADD', ENDS, digits(ends), id)
  local last = tonumber(redis.call('ZRANGE', ENDS, '-1', '-1', 'WITHSCORES')[2])
  for _, key in ipairs({SESSIONS, ENDS, USERS}) do
    redis.call('PEXPIREAT', key, digits(math.max(last, ends)))
  end
end
