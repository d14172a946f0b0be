-- The keys of a name, in the order in which every script gets them; hold.c says more. SHARERS and
-- LINE may be missing, see hold.given().

local STATE   = KEYS[1] -- hash: fence, limit, writer, sharers by token, looker
local SHARERS = KEYS[2] -- zset of tokens by the end of their lease
local LINE    = KEYS[3] -- list of waiters
