-- The keys of a book, in the order in which every script gets them. The essay in book.c says more.
--   META   hash: settings, entries (how many)
--   NAMES  zset by bytes: entries, and forms that point to them
--   FORMS  hash: entry, its forms
--   PARTS  zset by bytes: parts of keys and forms, with their entries
--   IDS    hash: id, entry

local META, NAMES, FORMS, PARTS, IDS = unpack(KEYS)
