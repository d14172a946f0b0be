-- queue/times: how long jobs waited and ran.
-- KEYS[1...] queue  see keys.inc.lua
-- flags: no-writes
-- returns {field, number, ...}: see times.inc.lua
-- include: keys

return redis.call('HGETALL', TIMES)
