-- The keys of a mailbox or chat, in the order in which every script gets them. The essay in
-- post.c says more.

local STATE    = KEYS[1] -- hash: numbers and limits; also the channel on which news are published
local MESSAGES = KEYS[2] -- stream
local MARKS    = KEYS[3] -- list
local READERS  = KEYS[4] -- zset of readers by the id up to which they have acknowledged
local RECENT   = KEYS[5] -- list of requests that may be repeated
