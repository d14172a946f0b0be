-- The keys of a set of ads, in the order in which every script gets them. The essay in
-- ads.c says more.
--   META    hash: smoothing, serial, totals of each type
--   ADS     hash: ad, terms
--   VALUES  hash: ad, eCPMs, needs and words
--   COUNTS  hash: what was counted for an ad
--   WORDS   hash: what was counted for a word of an ad
--   INDEX   zset by bytes: ads of a location, of a word
--   DUE     zset of ads whose budget is spent, by when they come back
--   HEADS   hash: beginning of members of the index, the greatest value among them
--   GATES   hash: kinds, ads that require them
--   TURN    zset of ads that are paid by event, in the order of being computed anew
--   TARGET  hash: one view, for the scripts that are about one

local META, ADS, VALUES, COUNTS, WORDS, INDEX, DUE, HEADS, GATES, TURN, TARGET = unpack(KEYS)
