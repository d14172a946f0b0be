-- stats/drop: forget a context.
-- KEYS[1] this  see stats/record
-- KEYS[2] last
-- KEYS[3] rank
-- KEYS[4] rank_last
-- ARGV[1] context
-- returns how many of its keys there were
local THIS, LAST, RANK, RANK_LAST = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local context = ARGV[1]

redis.call('ZREM', RANK, context)
redis.call('ZREM', RANK_LAST, context)
return redis.call('UNLINK', THIS, LAST)
