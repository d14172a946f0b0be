-- A book as a whole: its settings, its keys, how many entries it has.
-- include: keys
-- include: shared/expiry
-- include: shared/types

local book = {}

-- The settings of the book if they differ from the caller's; else nil. An error if only one of META
-- and NAMES exists: the other was evicted.
function book.other_settings(used)
  local stored, entries = unpack(redis.call('HMGET', META, 'settings', 'entries'))
  local any = redis.call('ZCARD', NAMES) > 0
  if any and not stored or not any and tonumber(entries or 0) > 0 then
    error({err = 'DAMAGED part of this book is gone from the server'})
  end
  if stored and stored ~= used then
    return stored
  end
end

-- Checks the types of all keys.
function book.check_types()
  types.check_zsets(NAMES, PARTS)
  types.check_hashes(IDS, FORMS)
end

-- Whether the book can find parts of keys.
function book.has_contains(settings)
  return string.find(settings, 'contains', 1, true) ~= nil
end

-- Changes the number of entries.
function book.count_entries(change)
  redis.call('HINCRBY', META, 'entries', change)
end

-- Lets all keys expire together, after the last write.
function book.expire_in(ttl)
  expiry.together(META, {NAMES, PARTS, IDS, FORMS}, ttl)
end
