-- cache/drop: remove a value. A computation that is under way will not be stored.
-- KEYS[1...] value  see keys.inc.lua
-- flags: allow-oom
-- returns 1; 0: there was no value
-- include: keys

local dropped = redis.call('UNLINK', ENTRY)
redis.call('DEL', LEASE)
keys.notify('ready')
return dropped
