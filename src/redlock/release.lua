-- redlock/release: let go, if it is ours.
-- KEYS[1] lock   string: the owner's token
-- ARGV[1] token
-- returns 0, or 6 (TKL_NOTOWNER) when it was not held, or no more

if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('DEL', KEYS[1])
  return 0
end
return 6
