-- The keys of a shard of an index, in the order in which every script of it gets them. The essay in
-- search.c says more. Behind them come those of fields, ladders, terms and results: the header of a
-- script says which.
--   META     hash: token, settings, version, next, docs, words
--   IDS      hash: id, number of the document
--   DOCS     hash: number, record
--   FORWARD  hash: number, its terms
--   TEXTS    hash: number, text
--   LIVE     bitmap of the numbers that can be found
--   DEAD     zset of the numbers that are begun or ended, by stamp
--   FREE     set of numbers to be used again
--   TERMS    zset of all terms, by bytes
--   COMMON   hash: term that has a bitmap, how many documents have it
--   SHOWN    hash: term of a value, the value as it was written
--   LADDER   hash: step of a ladder, its threshold

local SHARD_KEYS = 12
local META, IDS, DOCS, FORWARD, TEXTS, LIVE, DEAD, FREE, TERMS, COMMON, SHOWN, LADDER =
  unpack(KEYS, 1, SHARD_KEYS)
