-- stats/drop: forget a context.
-- KEYS[1...] type  see keys.inc.lua
-- ARGV[1] context
-- flags: allow-oom
-- returns how many of its keys existed
-- include: keys

local context = ARGV[1]

redis.call('ZREM', RANK, context)
redis.call('ZREM', RANK_LAST, context)
return redis.call('UNLINK', THIS, LAST)
