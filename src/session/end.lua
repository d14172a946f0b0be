-- session/end: forget a session.
-- KEYS[1...] store  see keys.inc.lua; the last is what the session viewed
-- ARGV[1] id        of the session
-- returns TKL_OK, or TKL_NOTFOUND when it had ended
-- include: keys
local id = ARGV[1]
-- include: session

local was_there = find(id, clock_ms())
forget({id})
redis.call('DEL', ITEMS)
return was_there and TKL_OK or TKL_NOTFOUND
