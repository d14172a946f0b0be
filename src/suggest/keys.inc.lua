-- The keys of suggestions, in the order in which every script gets them. The essay in suggest.c
-- says more.

local META    = KEYS[1] -- hash: settings, since (milliseconds; decay is counted from it)
local WEIGHTS = KEYS[2] -- zset of keys by score
local TEXTS   = KEYS[3] -- zset by bytes: "start NUL key", or "key NUL"
local BEST    = KEYS[4] -- zset by bytes: "prefix NUL score key"
local SHOWN   = KEYS[5] -- hash: key, text as it is shown, if different
local STARTS  = KEYS[6] -- hash: key, its starts except the first
