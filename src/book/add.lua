-- book/add: add entries. An entry with a known id gets another text.
-- KEYS[1...] book   see keys.inc.lua
-- ARGV[1] settings  of the caller; a new book gets them
-- ARGV[2] ttl       milliseconds, or 0
-- ARGV[3...] added  three for each entry: the entry, its id or '', its forms
-- returns how many are new, or the book's settings when the caller's differ
-- include: keys
-- include: book
-- include: index

local FIRST_ENTRY, ENTRY_ARGUMENTS = 3, 3
local settings, ttl = ARGV[1], ARGV[2]

local other = book.other_settings(settings)
if other then
  return other
end
book.check_types()
local contains = book.has_contains(settings)
for i = FIRST_ENTRY, #ARGV, ENTRY_ARGUMENTS do
  local id = ARGV[i + 1]
  if id ~= '' then
    index.entry_of(id) -- ends the script before any write if the data are damaged
  end
end

redis.call('HSET', META, 'settings', settings)
local added, taken = 0, 0
for i = FIRST_ENTRY, #ARGV, ENTRY_ARGUMENTS do
  local entry, id, forms = unpack(ARGV, i, i + ENTRY_ARGUMENTS - 1)
  if id ~= '' then
    local before = index.entry_of(id) -- the same id may come twice
    if before and before ~= entry then
      taken = taken + index.remove(before, contains)
    end
    redis.call('HSET', IDS, id, entry)
  end
  added = added + index.add(entry, forms, contains)
end
book.count_entries(added - taken)
book.expire_in(ttl)
return added - taken
