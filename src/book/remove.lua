-- book/remove: remove entries by id, and entries without an id by themselves.
-- KEYS[1...] book   see keys.inc.lua
-- ARGV[1] settings  of the caller
-- ARGV[2] ttl       milliseconds, or 0
-- ARGV[3...] gone   two for each entry: its id or '', the entry if it has none
-- flags: allow-oom
-- returns how many existed, or the book's settings when the caller's differ
-- include: keys
-- include: book
-- include: index

local FIRST_ENTRY = 3 -- index of the first entry in the arguments
local settings, ttl = ARGV[1], ARGV[2]

local other = book.other_settings(settings)
if other then
  return other
end
book.check_types()
local contains = book.has_contains(settings)
for i = FIRST_ENTRY, #ARGV, 2 do
  local id = ARGV[i]
  if id ~= '' then
    index.entry_of(id) -- ends the script before any write if the data are damaged
  end
end

local removed = 0
for i = FIRST_ENTRY, #ARGV, 2 do
  local id, entry = ARGV[i], ARGV[i + 1]
  if id ~= '' then
    entry = index.entry_of(id)
    redis.call('HDEL', IDS, id)
  end
  if entry then
    removed = removed + index.remove(entry, contains)
  end
end
if removed > 0 then
  book.count_entries(-removed)
  book.expire_in(ttl)
end
return removed
