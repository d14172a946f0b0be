-- The keys of a store, in the order in which every script gets them. The essay in
-- session.c says more.

local SESSIONS     = KEYS[1] -- hash: id, the session
local ENDS         = KEYS[2] -- zset of ids by when they end
local USERS        = KEYS[3] -- zset by bytes: user and id of each session
local RANKING      = KEYS[4] -- zset of items by views
local RANKING_INFO = KEYS[5] -- hash: half_life, bound
-- For scripts about a single session:
local ITEMS        = KEYS[6] -- zset: what the session viewed
local DATA         = KEYS[7] -- hash: its data
