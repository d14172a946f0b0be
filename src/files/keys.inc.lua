-- The keys of a channel, in the order in which every script gets them; files.c says more. Behind
-- them come those of files, of chunks and of a call: the header of a script says which.
--   STATE      hash: epoch, change, turn, held, limit; also the channel for news of files
--   FILES      zset of files by the number of their last change
--   ENDS       zset of files, and of "lease:file", by when their time is over
--   BYTES      hash: file, what it has of `held`
--   RESUME     hash: fingerprint of a source, the file that is being made of it
--   RECEIVERS  zset of receivers by the end of their lease
--   HOLDERS    hash: receiver, the token of the process that receives
--   TROUBLE    stream of what went wrong
--   ROOM       no key but a channel: there is more room, or a file is gone

local CHANNEL_KEYS = 9
local STATE, FILES, ENDS, BYTES, RESUME, RECEIVERS, HOLDERS, TROUBLE, ROOM =
  unpack(KEYS, 1, CHANNEL_KEYS)
