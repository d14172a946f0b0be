-- The keys of a channel, in the order in which every script gets them; files.c says more. Keys of
-- files, chunks and calls follow: the header of each script says which.

local KEPT_MS = 30 * 86400000 -- channels and notes about them stay for 30 days without use
local CHANNEL_KEYS = 9
local STATE     = KEYS[1] -- hash: epoch, change, turn, held, limit; also the channel for news
local FILES     = KEYS[2] -- zset of files by the number of their last change
local ENDS      = KEYS[3] -- zset of files, and of "lease:file", by when their time is over
local BYTES     = KEYS[4] -- hash: file, what it has of `held`
local RESUME    = KEYS[5] -- hash: fingerprint of a source, the file that is being made of it
local RECEIVERS = KEYS[6] -- zset of receivers by the end of their lease
local HOLDERS   = KEYS[7] -- hash: receiver, the token of the process that receives
local TROUBLE   = KEYS[8] -- stream of what went wrong
local ROOM      = KEYS[9] -- not a key but a channel: more room, or a file is gone
