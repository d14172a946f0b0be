-- The keys of a store, in the order in which every script gets them. The essay in
-- session.c says more.
--   SESSIONS  hash: id, the session
--   ENDS      zset of ids by when they end
--   USERS     zset by bytes: user and id of each session
--   RANKING   zset of items by views
--   ITEMS     zset of what one session viewed, for the scripts that are about one

local SESSIONS, ENDS, USERS, RANKING, ITEMS = unpack(KEYS)
