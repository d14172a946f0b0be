-- cache/tag: note that a value has a tag.
-- KEYS[1] tagged   zset: names of values by when they expire
-- ARGV[1] name     of the value
-- ARGV[2] px       ms until it expires
-- returns 1
-- include: shared/clock

local REMOVED = 20 -- most names of expired values that one call removes: more than it adds
local tagged = KEYS[1]
local name, px = ARGV[1], tonumber(ARGV[2])

local now = clock.ms()
redis.call('ZADD', tagged, string.format('%d', now + px), name)
local expired = redis.call('ZRANGEBYSCORE', tagged, '-inf', now, 'LIMIT', 0, REMOVED)
if #expired > 0 then
  redis.call('ZREM', tagged, unpack(expired))
end
if redis.call('PTTL', tagged) < px then
  redis.call('PEXPIRE', tagged, string.format('%d', px))
end
return 1
