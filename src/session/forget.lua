-- session/forget: forget sessions, those first that would end first.
-- KEYS[1] sessions  hash, see session.c
-- KEYS[2] ends      zset
-- KEYS[3] users     zset
-- ARGV[1] most
-- returns the ids of the forgotten
local SESSIONS, ENDS, USERS = KEYS[1], KEYS[2], KEYS[3]
local most = ARGV[1]
-- include: session

local ids = redis.call('ZRANGE', ENDS, '0', digits(most - 1))
forget(ids)
return ids
