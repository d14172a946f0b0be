-- stats/drop: forget a context.
-- KEYS[1] this  see stats/record
-- KEYS[2] last
-- KEYS[3] rank
-- KEYS[4] rank_last
-- ARGV[1] context
-- returns how many of its keys there were
redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('ZREM', KEYS[4], ARGV[1])
return redis.call('UNLINK', KEYS[1], KEYS[2])
