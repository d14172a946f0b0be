-- queue/limits: the limits that are set.
-- KEYS[1...] queue  see keys.inc.lua
-- ARGV[1...] names
-- flags: no-writes
-- returns the value of each; nil: none
-- include: totals

return redis.call('HMGET', META, unpack(ARGV))
