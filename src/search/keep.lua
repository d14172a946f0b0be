-- search/keep: keep a result in place of an older or shorter one, unless it is kept already.
-- KEYS[1] kept      list: what is said about the result, then its documents
-- ARGV[1] ttl       milliseconds
-- ARGV[2...] items  of the list
-- returns 1 if it was kept now
-- include: parts

local FIRST_ITEM = 2 -- index of the first item in the arguments

local KEPT, ttl = KEYS[1], ARGV[1]

if redis.call('LRANGE', KEPT, 0, 0)[1] == ARGV[FIRST_ITEM] then
  return 0
end
redis.call('UNLINK', KEPT)
parts.each(FIRST_ITEM, #ARGV, function(first, last)
  redis.call('RPUSH', KEPT, unpack(ARGV, first, last))
end)
redis.call('PEXPIRE', KEPT, ttl)
return 1
