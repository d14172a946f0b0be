-- The keys of a mailbox or chat, in the order in which every script gets them. The essay in
-- post.c says more.
--   STATE     hash: numbers and limits; also the channel on which news are published
--   MESSAGES  stream
--   MARKS     list
--   READERS   zset of readers by the id up to which they have acknowledged
--   RECENT    list of requests that may be repeated

local STATE, MESSAGES, MARKS, READERS, RECENT = unpack(KEYS)
