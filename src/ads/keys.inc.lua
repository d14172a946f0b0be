-- The keys of a set of ads, in the order in which every script gets them. The essay in
-- ads.c says more.

local META   = KEYS[1]  -- hash: smoothing, serial, totals of each type
local ADS    = KEYS[2]  -- hash: ad, terms
local VALUES = KEYS[3]  -- hash: ad, eCPMs, needs and words
local COUNTS = KEYS[4]  -- hash: counts of an ad
local WORDS  = KEYS[5]  -- hash: counts of a word of an ad
local INDEX  = KEYS[6]  -- zset by bytes: ads of a location, of a word
local DUE    = KEYS[7]  -- zset of ads whose budget is spent, by when they come back
local HEADS  = KEYS[8]  -- hash: beginning of members of the index, the greatest value among them
local GATES  = KEYS[9]  -- hash: kinds, ads that require them
local TURN   = KEYS[10] -- zset of ads paid by event, in the order of their next update
local TARGET = KEYS[11] -- hash: one view, for scripts about a single view
