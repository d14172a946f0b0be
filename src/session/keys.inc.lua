-- The keys of a store, in the order in which every script gets them. The essay in
-- session.c says more.

local SESSIONS     = KEYS[1] -- hash: id, the session
local ENDS         = KEYS[2] -- zset of ids by when they end
local USERS        = KEYS[3] -- zset by bytes: user and id of each session
local RANKING      = KEYS[4] -- zset of items by views
local RANKING_INFO = KEYS[5] -- hash: half_life, bound
local ITEMS        = KEYS[6] -- zset: what one session viewed, for scripts about a single session
