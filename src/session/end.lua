-- session/end: forget a session.
-- KEYS[1...] store  see keys.inc.lua; the last two are of this session
-- ARGV[1] id        of the session
-- flags: allow-oom
-- returns TKL_OK, or TKL_NOTFOUND when it had ended
-- include: keys
-- include: sessions

local id = ARGV[1]

local was_there = sessions.find(id, clock.ms())
sessions.forget({id})
redis.call('DEL', ITEMS, DATA)
return was_there and TKL_OK or TKL_NOTFOUND
