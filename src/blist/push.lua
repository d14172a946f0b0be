-- blist/push: append items to a list that expires so long after the last push.
-- KEYS[1] list
-- ARGV[1] ttl       milliseconds
-- ARGV[2...] items
-- returns the length of the list

local LIST, ttl = KEYS[1], ARGV[1]
local TOGETHER = 1000 -- arguments of one command: Lua's stack holds some thousands

local length = 0
for first = 2, #ARGV, TOGETHER do
  local last = math.min(first + TOGETHER - 1, #ARGV)
  length = redis.call('RPUSH', LIST, unpack(ARGV, first, last))
end
redis.call('PEXPIRE', LIST, ttl)
return length
