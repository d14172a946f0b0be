-- search/keep: one step of keeping a result, which replaces an older or shorter one.
-- KEYS[1] kept      list: the description of the result, then its documents
-- KEYS[2] making    the list while it is made
-- ARGV[1] ttl       milliseconds
-- ARGV[2] about     the description of the result
-- ARGV[3] count     documents of the whole list
-- ARGV[4...] items  of the list: the next documents
-- returns 1 if it was kept now, 0 if more items are wanted, -1 if it is kept already
-- include: parts

local FIRST_ITEM = 4 -- index of the first item in the arguments

local KEPT, MAKING = unpack(KEYS)
local ttl, about, count = unpack(ARGV)

if redis.call('LRANGE', KEPT, 0, 0)[1] == about then
  redis.call('UNLINK', MAKING)
  return -1
end
if redis.call('EXISTS', MAKING) == 0 then
  redis.call('RPUSH', MAKING, about)
end
parts.each(FIRST_ITEM, #ARGV, function(first, last)
  redis.call('RPUSH', MAKING, unpack(ARGV, first, last))
end)
redis.call('PEXPIRE', MAKING, ttl)
if redis.call('LLEN', MAKING) < 1 + count then
  return 0
end
redis.call('UNLINK', KEPT)
redis.call('RENAME', MAKING, KEPT)
return 1
