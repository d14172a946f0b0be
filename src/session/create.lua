-- session/create: begin a session; forget sessions that have ended, and sessions beyond the limit.
-- KEYS[1...] store  see keys.inc.lua
-- ARGV[1] id        of the session
-- ARGV[2] user
-- ARGV[3] ttl       ms
-- ARGV[4] most      sessions that the store keeps
-- returns the ids of the sessions beyond the limit that were forgotten
-- include: keys
-- include: sessions
-- include: shared/types

-- Most old sessions that a new one removes: the store shrinks after the limit was lowered.
local AT_ONCE = 10
local id, user, ttl, most = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])

-- The session with the oldest use, except the new one. A last use in the future is from before the
-- clock was set back: it counts as the oldest of all.
local function oldest(now_ms)
  local later = redis.call('ZRANGE', ENDS, '(' .. decimal.whole(now_ms + ttl), '+inf', 'BYSCORE',
                           'LIMIT', '0', '1')
  local session = later[1] and sessions.find(later[1], now_ms)
  if session and session.ends - session.ttl > now_ms then
    return later[1]
  end
  local first = redis.call('ZRANGE', ENDS, '0', '1')
  return first[1] == id and first[2] or first[1]
end

types.check_zsets(ENDS, USERS)
local now_ms = clock.ms()
redis.call('HSET', SESSIONS, id, sessions.text(now_ms, ttl, user))
redis.call('ZADD', USERS, '0', sessions.user_prefix(user) .. id)
redis.call('ZADD', ENDS, decimal.whole(now_ms + ttl), id)
sessions.keep_store(now_ms + ttl, ttl)

sessions.forget_ended(now_ms, AT_ONCE)
local forgotten = {}
for i = 1, math.min(AT_ONCE, redis.call('ZCARD', ENDS) - most) do
  forgotten[i] = oldest(now_ms)
  sessions.forget({forgotten[i]})
end
return forgotten
