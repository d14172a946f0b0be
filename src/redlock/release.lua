-- redlock/release: let go, if it is ours.
-- KEYS[1] lock   string: the owner's token
-- ARGV[1] token
-- returns 0, or 6 (TKL_NOTOWNER) when it was not held, or no more

local OK, NOTOWNER = 0, 6
local LOCK, token = KEYS[1], ARGV[1]
if redis.call('GET', LOCK) == token then
  redis.call('DEL', LOCK)
  return OK
end
return NOTOWNER
