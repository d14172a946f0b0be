-- queue/limits: the limits that are set.
-- KEYS[1...] queue  see keys.inc.lua
-- ARGV[1...] names
-- returns the value of each; nil: none
-- include: keys
return redis.call('HMGET', META, unpack(ARGV))
