-- session/forget: forget the sessions that would end first.
-- KEYS[1...] store  see keys.inc.lua
-- ARGV[1] most
-- flags: allow-oom
-- returns the ids of the forgotten sessions
-- include: keys
-- include: sessions

local most = ARGV[1]

local ids = redis.call('ZRANGE', ENDS, '0', decimal.whole(most - 1))
sessions.forget(ids)
return ids
