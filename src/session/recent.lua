-- session/recent: what a session viewed, the most recent first.
-- KEYS[1...] store  see keys.inc.lua; the last is what the session viewed
-- ARGV[1] id        of the session
-- ARGV[2] first     rank, from 0
-- ARGV[3] last
-- flags: no-writes
-- returns {item, microseconds, ...}; nil when the session has ended
-- include: keys
-- include: sessions

local id, first, last = unpack(ARGV)

if not sessions.find(id, clock.ms()) then
  return false
end
return redis.call('ZRANGE', ITEMS, first, last, 'REV', 'WITHSCORES')
