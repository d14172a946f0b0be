-- post/drop: remove everything.
-- KEYS[1...] post    see keys.inc.lua
-- flags: allow-oom
-- returns code: TKL_NOTFOUND there was nothing
-- include: keys
-- include: own

local removed = redis.call('UNLINK', STATE, MESSAGES, MARKS, READERS, RECENT)
own.forget_all()
redis.pcall('SPUBLISH', STATE, '')
return removed > 0 and TKL_OK or TKL_NOTFOUND
