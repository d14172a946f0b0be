-- The keys of a shard of an index, in the order in which every script gets them. The essay in
-- search.c says more. The keys of fields, ladders, terms and results come behind them: the header
-- of a script says which.

local SHARD_KEYS = 11
local META    = KEYS[1]  -- hash: token, settings, version, next, docs, words
local IDS     = KEYS[2]  -- hash: id, number of the document
local DOCS    = KEYS[3]  -- hash: number, record
local FORWARD = KEYS[4]  -- hash: number, its terms
local TEXTS   = KEYS[5]  -- hash: number, text
local LIVE    = KEYS[6]  -- bitmap of the numbers that can be found
local DEAD    = KEYS[7]  -- zset of numbers being added or removed, by stamp
local FREE    = KEYS[8]  -- set of free numbers
local TERMS   = KEYS[9]  -- zset of all terms, by bytes
local COMMON  = KEYS[10] -- hash: term that has a bitmap, number of its documents
local LADDER  = KEYS[11] -- hash: step of a ladder, its threshold
