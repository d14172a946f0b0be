-- session/create: begin a session; those that have ended, and those beyond the limit, make room.
-- KEYS[1...] store  see keys.inc.lua
-- ARGV[1] id        of the session
-- ARGV[2] user
-- ARGV[3] ttl       ms
-- ARGV[4] most      sessions that the store keeps
-- returns the ids of the sessions beyond the limit that were forgotten
-- include: keys
local id, user, ttl, most = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
-- include: session

-- So many old ones make room for one new one: the store shrinks when the limit was lowered.
local AT_ONCE = 10

-- The session that was used longest ago, but for the new one. A session whose last use lies in the
-- future was used before the clock was set back: longer ago than all others.
local function oldest(now_ms)
  local later = redis.call('ZRANGE', ENDS, '(' .. digits(now_ms + ttl), '+inf', 'BYSCORE',
                           'LIMIT', '0', '1')
  local session = later[1] and find(later[1], now_ms)
  if session and session.ends - session.ttl > now_ms then
    return later[1]
  end
  local first = redis.call('ZRANGE', ENDS, '0', '1')
  return first[1] == id and first[2] or first[1]
end

local now_ms = clock_ms()
redis.call('HSET', SESSIONS, id, session_text(now_ms, ttl, user))
redis.call('ZADD', USERS, '0', user_prefix(user) .. id)
prolong(id, now_ms + ttl)

forget_ended(now_ms, AT_ONCE)
local forgotten = {}
for i = 1, math.min(AT_ONCE, redis.call('ZCARD', ENDS) - most) do
  forgotten[i] = oldest(now_ms)
  forget({forgotten[i]})
end
return forgotten
