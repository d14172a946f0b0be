-- ip/begin: begin a generation, which expires unless its import continues.
-- KEYS[1...] table   see keys.inc.lua
-- ARGV[1] ttl     milliseconds
-- ARGV[2] chunk   the first
-- returns 1
-- include: keys

local ttl, chunk = unpack(ARGV)

redis.call('ZADD', RANGES, 0, chunk)
redis.call('PEXPIRE', RANGES, ttl)
return 1
