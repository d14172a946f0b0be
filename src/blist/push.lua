-- blist/push: add items to a list, which expires `ttl` after its last push.
-- KEYS[1] list
-- ARGV[1] ttl       milliseconds
-- ARGV[2] where     first or last: where the items go
-- ARGV[3...] items
-- returns the length of the list

local FIRST_ITEM = 3 -- index of the first item in the arguments

local LIST, ttl, where = KEYS[1], ARGV[1], ARGV[2]
local TOGETHER = 1000 -- arguments of one command: Lua's stack holds a few thousand

local length = 0
for first = FIRST_ITEM, #ARGV, TOGETHER do
  local last = math.min(first + TOGETHER - 1, #ARGV)
  if where == 'first' then
    length = redis.call('LPUSH', LIST, unpack(ARGV, first, last))
  else
    length = redis.call('RPUSH', LIST, unpack(ARGV, first, last))
  end
end
redis.call('PEXPIRE', LIST, ttl)
return length
