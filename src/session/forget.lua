-- session/forget: forget sessions, those first that would end first.
-- KEYS[1...] store  see keys.inc.lua
-- ARGV[1] most
-- returns the ids of the forgotten
-- include: keys
local most = ARGV[1]
-- include: session

local ids = redis.call('ZRANGE', ENDS, '0', digits(most - 1))
forget(ids)
return ids
