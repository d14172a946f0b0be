-- cache/get: read a value, in a pipeline with other calls.
-- KEYS[1...] value  see keys.inc.lua
-- flags: no-writes
-- returns {the entry or nil, its ms left}
-- include: keys

return {redis.call('GET', ENTRY), redis.call('PTTL', ENTRY)}
