-- cache/show: a value as operators see it.
-- KEYS[1...] value  see keys.inc.lua
-- ARGV[1] head      bytes of the entry to return, from its beginning
-- flags: no-writes
-- returns {head, bytes of the entry, its ms left, what the lease holds or '', ms left of the lease}
-- include: keys

local head = tonumber(ARGV[1])

return {redis.call('GETRANGE', ENTRY, 0, head - 1), redis.call('STRLEN', ENTRY),
        redis.call('PTTL', ENTRY), redis.call('GET', LEASE) or '', redis.call('PTTL', LEASE)}
