-- post/drop: remove everything.
-- KEYS[1...] all keys
-- returns code: TKL_NOTFOUND there was nothing
-- include: shared/codes

local removed = redis.call('UNLINK', unpack(KEYS))
local STATE = KEYS[1] -- also the channel
redis.pcall('SPUBLISH', STATE, '')
return removed > 0 and TKL_OK or TKL_NOTFOUND
