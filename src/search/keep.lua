-- search/keep: keep a result, unless it is kept already.
-- KEYS[1] kept      list: what is said about the result, then its documents
-- ARGV[1] ttl       milliseconds
-- ARGV[2...] items  of the list
-- returns 1 if it was kept now

local kept = KEYS[1]
if redis.call('EXISTS', kept) == 1 then
  return 0
end
for first = 2, #ARGV, 4000 do
  redis.call('RPUSH', kept, unpack(ARGV, first, math.min(first + 3999, #ARGV)))
end
redis.call('PEXPIRE', kept, ARGV[1])
return 1
