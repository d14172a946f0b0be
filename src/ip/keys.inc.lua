-- The keys of a table, in the order in which every script gets them; see ip.c.

local TABLE      = KEYS[1] -- hash: generation, ranges, places, imported
local RANGES     = KEYS[2] -- zset: the chunks of the caller's generation
local OLD_RANGES = KEYS[3] -- zset: the chunks of the generation before, if that is replaced
