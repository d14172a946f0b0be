-- The keys of a season of a board, in the order in which every script gets them; board.c says more.

local SETTINGS = KEYS[1] -- hash: shape, and the seasons that there are
local RANKS    = KEYS[2] -- zset: stamp and member, by score
local MEMBERS  = KEYS[3] -- hash: member -> stamp and score
