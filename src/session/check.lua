-- session/check: read a session.
-- KEYS[1...] store  see keys.inc.lua; the last two are of this session
-- ARGV[1] id        of the session
-- flags: no-writes
-- returns {user, created, last use, end, {field, value, ...}}, times in ms; {} when the session has
--   ended
-- include: keys
-- include: sessions

local id = ARGV[1]

local session = sessions.find(id, clock.ms())
if not session then
  return {}
end
return {session.user, session.created, session.ends - session.ttl, session.ends,
        redis.call('HGETALL', DATA)}
