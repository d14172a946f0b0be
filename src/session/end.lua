-- session/end: forget a session.
-- KEYS[1] sessions  hash, see session.c
-- KEYS[2] ends      zset
-- KEYS[3] users     zset
-- KEYS[4] items     zset, of this session
-- ARGV[1] id        of the session
-- returns TKL_OK, or TKL_NOTFOUND when it had ended
local SESSIONS, ENDS, USERS, ITEMS = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id = ARGV[1]
-- include: session

local was_there = find(id, clock_ms())
forget({id})
redis.call('DEL', ITEMS)
return was_there and TKL_OK or TKL_NOTFOUND
