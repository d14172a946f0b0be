-- The keys of a type, and of one of its contexts, in the order in which every script gets them.
--   TOTAL      hash: hour, count, sum of all contexts; last_hour, last_count, last_sum
--   RANK       zset of contexts by their mean
--   RANK_LAST  the same of the hour before
--   THIS       hash of a context: hour, count, mean, m2, min, max, sum, sumsq, counts of buckets
--   LAST       the same of the hour before

local TOTAL, RANK, RANK_LAST, THIS, LAST = unpack(KEYS)
