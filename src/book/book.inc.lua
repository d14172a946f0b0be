-- A book as a whole: its settings, its keys, how many entries it has.
-- include: keys
-- include: shared/expiry

-- The book's settings when they are others than the caller's; else nil. An error when only one of
-- META and NAMES is there: the other was evicted.
local function other_settings(used)
  local stored, entries = unpack(redis.call('HMGET', META, 'settings', 'entries'))
  local any = redis.call('ZCARD', NAMES) > 0
  if any and not stored or not any and tonumber(entries or 0) > 0 then
    error({err = 'DAMAGED part of this book is gone from the server'})
  end
  if stored and stored ~= used then
    return stored
  end
end

-- Before the first write: an error now when one of the keys is of another type.
local function check_types()
  redis.call('ZCARD', NAMES)
  redis.call('ZCARD', PARTS)
  redis.call('HLEN', IDS)
  redis.call('HLEN', FORMS)
end

local function has_contains(settings)
  return string.find(settings, 'contains', 1, true) ~= nil
end

local function count_entries(change)
  redis.call('HINCRBY', META, 'entries', change)
end

-- After the last write.
local function expire_in(ttl)
  expire_together(META, {NAMES, PARTS, IDS, FORMS}, ttl)
end
