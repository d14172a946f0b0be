-- The keys of a table, in the order in which every script gets them; see ip.c.
--   TABLE       hash: generation, ranges, places, imported
--   RANGES      zset: the chunks of the caller's generation
--   OLD_RANGES  the same of the generation before, if that is replaced

local TABLE, RANGES, OLD_RANGES = unpack(KEYS)
