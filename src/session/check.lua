-- session/check: whose session it is.
-- KEYS[1...] store  see keys.inc.lua
-- ARGV[1] id        of the session
-- returns {user, created, last use, end} in ms; {} when it has ended
-- include: keys
-- include: session

local id = ARGV[1]
local session = find(id, clock_ms())
if not session then
  return {}
end
return {session.user, session.created, session.ends - session.ttl, session.ends}
