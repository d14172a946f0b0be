-- redlock/release: remove the key if it has the owner's token.
-- KEYS[1] lock   string: the owner's token
-- ARGV[1] token
-- flags: allow-oom
-- returns TKL_OK, or TKL_NOTOWNER when it was not held, or no more

local LOCK, token = KEYS[1], ARGV[1]
if redis.call('GET', LOCK) == token then
  redis.call('DEL', LOCK)
  return TKL_OK
end
return TKL_NOTOWNER
