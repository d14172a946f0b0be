-- The keys of a book, in the order in which every script gets them. The essay in book.c says more.

local META  = KEYS[1] -- hash: settings, entries (how many)
local NAMES = KEYS[2] -- zset by bytes: entries, and forms that point to them
local FORMS = KEYS[3] -- hash: entry, its forms
local PARTS = KEYS[4] -- zset by bytes: parts of keys and forms, with their entries
local IDS   = KEYS[5] -- hash: id, entry
