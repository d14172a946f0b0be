-- The sessions of a store.
-- include: keys
-- include: shared/clock
-- include: shared/codes

local FOREIGN = 'DAMAGED the store holds something that tackle did not write'

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

-- Forgets sessions, whether they have ended or not. What another program wrote does not keep them.
local function forget(ids)
  if not ids[1] then
    return
  end
  local members = {}
  for i, text in ipairs(redis.call('HMGET', SESSIONS, unpack(ids))) do
    local user = text and string.match(text, '^%d+ %d+ (.+)$')
    if user then
      members[#members + 1] = user_prefix(user) .. ids[i]
    end
  end
  redis.call('ZREM', ENDS, unpack(ids))
  redis.call('HDEL', SESSIONS, unpack(ids))
  if members[1] then
    redis.call('ZREM', USERS, unpack(members))
  end
end

-- Forgets up to `most` sessions that have ended. What they viewed has expired.
local function forget_ended(now_ms, most)
  forget(redis.call('ZRANGE', ENDS, '-inf', digits(now_ms), 'BYSCORE', 'LIMIT', '0', most))
end

-- The sessions with these ids, each as {created, ttl, user, ends}; false for those that have ended.
local function find_all(ids, now_ms)
  if not ids[1] then
    return {}
  end
  local sessions = redis.call('HMGET', SESSIONS, unpack(ids))
  local ends = redis.call('ZMSCORE', ENDS, unpack(ids))
  for i, text in ipairs(sessions) do
    if text and tonumber(ends[i] or 0) > now_ms then
      local created, ttl, user = read_session(text)
      sessions[i] = {created = created, ttl = ttl, user = user, ends = tonumber(ends[i])}
    else
      sessions[i] = false
    end
  end
  return sessions
end

-- The session with this id; false when it has ended.
local function find(id, now_ms)
  return find_all({id}, now_ms)[1]
end

-- Up to `max` sessions of a user behind the first `skip`: their places among USERS, and their ids.
-- All have the same score, so the rank is the order of the bytes.
local function of_user(user, skip, max)
  local prefix, members, ids = user_prefix(user), {}, {}
  local first = redis.call('ZLEXCOUNT', USERS, '-', '(' .. prefix) + skip
  for _, member in ipairs(redis.call('ZRANGE', USERS, digits(first), digits(first + max - 1))) do
    if string.sub(member, 1, #prefix) ~= prefix then
      break
    end
    members[#members + 1] = member
    ids[#ids + 1] = string.sub(member, #prefix + 1)
  end
  return members, ids
end

-- A session lives until then. The keys of the store live as long as its last session.
local function prolong(id, ends)
  redis.call('ZADD', ENDS, digits(ends), id)
  local last = tonumber(redis.call('ZRANGE', ENDS, '-1', '-1', 'WITHSCORES')[2])
  for _, key in ipairs({SESSIONS, ENDS, USERS}) do
    redis.call('PEXPIREAT', key, digits(math.max(last, ends)))
  end
end
