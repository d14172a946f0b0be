-- The keys of a type, and of one of its contexts, in the order in which every script gets them.

local TOTAL     = KEYS[1] -- hash: hour, count, sum of all contexts; last_hour, last_count, last_sum
local RANK      = KEYS[2] -- zset of contexts by their mean
local RANK_LAST = KEYS[3] -- zset: the ranking of the hour before
local THIS      = KEYS[4] -- hash of a context: hour, count, mean, m2, min, max, sum, sumsq, buckets
local LAST      = KEYS[5] -- hash of a context, for the hour before
