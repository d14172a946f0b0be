-- book/rename: give an entry another text.
-- KEYS[1...] book   see keys.inc.lua
-- ARGV[1] settings  of the caller
-- ARGV[2] ttl       milliseconds, or 0
-- ARGV[3] id        or ''
-- ARGV[4] old       the entry, when it has no id
-- ARGV[5] new       the entry with the new text
-- ARGV[6] forms     of the new entry
-- returns TKL_OK, TKL_NOTFOUND, TKL_EXISTS, or the book's settings when the caller's differ
-- include: keys
-- include: book
-- include: index

local settings, ttl, id, old, new, forms = unpack(ARGV)

local other = book.other_settings(settings)
if other then
  return other
end
book.check_types()
if id ~= '' then
  old = index.entry_of(id)
end
if not old or not redis.call('ZSCORE', NAMES, old) then
  return TKL_NOTFOUND
end
if old == new then
  return TKL_OK
end
if redis.call('ZSCORE', NAMES, new) then
  return TKL_EXISTS
end
index.add(new, forms, book.has_contains(settings))
index.remove(old, book.has_contains(settings))
if id ~= '' then
  redis.call('HSET', IDS, id, new)
end
book.expire_in(ttl)
return TKL_OK
