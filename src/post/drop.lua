-- post/drop: remove everything.
-- KEYS[1...] all keys
-- returns code: TKL_NOTFOUND there was nothing
-- include: codes

local removed = redis.call('UNLINK', unpack(KEYS))
redis.pcall('SPUBLISH', KEYS[1], '')
return removed > 0 and OK or NOTFOUND
