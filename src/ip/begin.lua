-- ip/begin: begin a generation, in such a way that it expires if nobody goes on with it.
-- KEYS[1] ranges  sorted set
-- KEYS[2] places  hash
-- ARGV[1] ttl     milliseconds
-- ARGV[2] chunk   the first
-- ARGV[3] number  of the first place
-- ARGV[4] fields  of it
-- returns 1

local RANGES, PLACES = KEYS[1], KEYS[2]
local ttl, chunk, number, fields = unpack(ARGV)
redis.call('ZADD', RANGES, 0, chunk)
redis.call('PEXPIRE', RANGES, ttl)
redis.call('HSET', PLACES, number, fields)
redis.call('PEXPIRE', PLACES, ttl)
return 1
