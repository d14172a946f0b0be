-- session/check: whose session it is.
-- KEYS[1] sessions  hash, see session.c
-- KEYS[2] ends      zset
-- KEYS[3] users     zset
-- ARGV[1] id        of the session
-- returns {user, created, last use, end} in ms; {} when it has ended
local SESSIONS, ENDS, USERS = KEYS[1], KEYS[2], KEYS[3]
-- include: session

local id = ARGV[1]
local session = find(id, clock_ms())
if not session then
  return {}
end
return {session.user, session.created, session.ends - session.ttl, session.ends}
