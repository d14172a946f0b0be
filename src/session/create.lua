-- session/create: begin a session; those that have ended, and those beyond the limit, make room.
-- KEYS[1] sessions  hash, see session.c
-- KEYS[2] ends      zset
-- KEYS[3] users     zset
-- ARGV[1] id        of the session
-- ARGV[2] user
-- ARGV[3] ttl       ms
-- ARGV[4] most      sessions that the store keeps
-- returns the ids of the sessions that were forgotten
local SESSIONS, ENDS, USERS = KEYS[1], KEYS[2], KEYS[3]
local id, user, ttl, most = unpack(ARGV)
-- include: session

-- So many old ones make room for one new one: the store shrinks when the limit was lowered.
local AT_ONCE = 10

local now_ms = to_ms(clock())
redis.call('HSET', SESSIONS, id, session_text(now_ms, ttl, user))
redis.call('ZADD', USERS, '0', user_prefix(user) .. id)
prolong(id, now_ms + ttl)

local forgotten = forget_ended(now_ms, AT_ONCE)
for _ = 1, math.min(AT_ONCE, redis.call('ZCARD', ENDS) - most) do
  local first = redis.call('ZRANGE', ENDS, '0', '1') -- not the new one, whatever its time
  local oldest = first[1] == id and first[2] or first[1]
  forget(oldest)
  forgotten[#forgotten + 1] = oldest
end
return forgotten
