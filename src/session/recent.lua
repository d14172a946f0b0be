-- session/recent: what a session viewed, the most recent first.
-- KEYS[1] sessions  hash, see session.c
-- KEYS[2] ends      zset
-- KEYS[3] users     zset
-- KEYS[4] items     zset, of this session
-- ARGV[1] id        of the session
-- ARGV[2] first     rank, from 0
-- ARGV[3] last
-- returns {item, microseconds, ...}; nil when the session has ended
local SESSIONS, ENDS, USERS, ITEMS = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, first, last = unpack(ARGV)
-- include: session

if not find(id, clock_ms()) then
  return false
end
return redis.call('ZRANGE', ITEMS, first, last, 'REV', 'WITHSCORES')
