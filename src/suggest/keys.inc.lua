-- The keys of suggestions, in the order in which every script gets them. The essay
-- in suggest.c says more.
--   META     hash: settings, since (milliseconds; decay is counted from it)
--   WEIGHTS  zset of keys by score
--   TEXTS    zset by bytes: "start NUL key", or "key NUL"
--   BEST     zset by bytes: "prefix NUL score key"
--   SHOWN    hash: key, text as it is shown if that is another
--   STARTS   hash: key, its starts but the first

local META, WEIGHTS, TEXTS, BEST, SHOWN, STARTS = unpack(KEYS)
