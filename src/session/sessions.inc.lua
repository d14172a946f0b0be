-- The sessions of a store.
-- include: keys
-- include: shared/clock
-- include: shared/lasting
-- include: shared/ranked

local sessions = {}

local FOREIGN = 'DAMAGED the store holds something that tackle did not write'

-- A session in its stored form, "created ttl user": creation time, lifetime without use, owner.
function sessions.text(created, ttl, user)
  return decimal.whole(created) .. ' ' .. decimal.whole(ttl) .. ' ' .. user
end

-- Reads a session in its stored form.
function sessions.read(text)
  local created, ttl, user = string.match(text, '^(%d+) (%d+) (.+)$')
  if not created then
    error({err = FOREIGN})
  end
  return tonumber(created), tonumber(ttl), user
end

-- The beginning of all members of USERS that belong to a user; so they are adjacent.
function sessions.user_prefix(user)
  return #user .. ':' .. user .. ':'
end

-- Forgets sessions, whether they have ended or not, even when another program has changed them.
function sessions.forget(ids)
  if not ids[1] then
    return
  end
  local members = {}
  for i, text in ipairs(redis.call('HMGET', SESSIONS, unpack(ids))) do
    local user = text and string.match(text, '^%d+ %d+ (.+)$')
    if user then
      members[#members + 1] = sessions.user_prefix(user) .. ids[i]
    end
  end
  redis.call('ZREM', ENDS, unpack(ids))
  redis.call('HDEL', SESSIONS, unpack(ids))
  if members[1] then
    redis.call('ZREM', USERS, unpack(members))
  end
end

-- Forgets at most `most` sessions that have ended. Their items have expired.
function sessions.forget_ended(now_ms, most)
  sessions.forget(ranked.up_to(ENDS, now_ms, most))
end

-- The sessions with these ids, each as {created, ttl, user, ends}; false for a session that has
-- ended.
function sessions.find_all(ids, now_ms)
  if not ids[1] then
    return {}
  end
  local found = redis.call('HMGET', SESSIONS, unpack(ids))
  local ends = redis.call('ZMSCORE', ENDS, unpack(ids))
  for i, text in ipairs(found) do
    if text and tonumber(ends[i] or 0) > now_ms then
      local created, ttl, user = sessions.read(text)
      found[i] = {created = created, ttl = ttl, user = user, ends = tonumber(ends[i])}
    else
      found[i] = false
    end
  end
  return found
end

-- The session with this id; false when it has ended.
function sessions.find(id, now_ms)
  return sessions.find_all({id}, now_ms)[1]
end

-- At most `max` sessions of a user behind the first `skip`: their ranks in USERS, and their ids.
-- All members have the same score, so ranks are in the order of the bytes.
function sessions.of_user(user, skip, max)
  local prefix, members, ids = sessions.user_prefix(user), {}, {}
  local first = redis.call('ZLEXCOUNT', USERS, '-', '(' .. prefix) + skip
  local last = first + max - 1
  local found = redis.call('ZRANGE', USERS, decimal.whole(first), decimal.whole(last))
  for _, member in ipairs(found) do
    if string.sub(member, 1, #prefix) ~= prefix then
      break
    end
    members[#members + 1] = member
    ids[#ids + 1] = string.sub(member, #prefix + 1)
  end
  return members, ids
end

-- How much longer than their sessions keys live: a part of the ttl.
function sessions.slack_of(ttl)
  return math.ceil(ttl / 8)
end

-- Keeps the keys of the store until `ends`, so that they live as long as its last session.
function sessions.keep_store(ends, ttl)
  for _, key in ipairs({SESSIONS, ENDS, USERS}) do
    lasting.keep_until(key, ends, sessions.slack_of(ttl))
  end
end
