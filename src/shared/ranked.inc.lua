-- Sorted sets whose scores are times or other whole numbers.
-- include: shared/decimal

local ranked = {}

-- The first members with at most this score, `most` of them. With 'WITHSCORES' behind, each is
-- followed by its score.
function ranked.up_to(key, score, most, ...)
  return redis.call('ZRANGE', key, '-inf', decimal.whole(score), 'BYSCORE', 'LIMIT', 0, most, ...)
end
