-- The best texts of crowded prefixes.
-- A prefix with more than CROWD starts keeps its BEST_MAX heaviest texts in BEST. Of other prefixes
-- TEXTS has all in one short range.
-- include: keys
-- include: entries
-- include: prefixes

local best = {}

-- The keys in members of TEXTS that crowded prefixes may keep.
function best.listed_keys(texts)
  local keys = {}
  for _, text in ipairs(texts) do
    local key, unlisted = prefixes.key_of(text)
    if not unlisted then
      keys[#keys + 1] = key
    end
  end
  return keys
end

-- Builds the list of best texts for a prefix that has become crowded, from all its texts. One text
-- may have added many starts at once.
function best.build(prefix, best_max)
  local found = redis.call('ZRANGE', TEXTS, '[' .. prefix, prefixes.above(prefix), 'BYLEX',
                           'LIMIT', 0, best_max + TKL__SUGGEST_STARTS_MAX)
  local keys, members = best.listed_keys(found), {}
  local scores = #keys > 0 and redis.call('ZMSCORE', WEIGHTS, unpack(keys)) or {}
  for i, key in ipairs(keys) do
    if scores[i] then
      members[#members + 1] = 0
      members[#members + 1] = entries.member(prefix, tonumber(scores[i]), key)
    end
  end
  local kept = #members > 0 and redis.call('ZADD', BEST, unpack(members)) or 0
  if kept > best_max then
    local low, high = entries.bounds(prefix)
    local light = redis.call('ZRANGE', BEST, low, high, 'BYLEX', 'LIMIT', 0, kept - best_max)
    redis.call('ZREM', BEST, unpack(light))
  end
end

-- The lightest text that a prefix keeps.
function best.lightest_of(prefix)
  local low, high = entries.bounds(prefix)
  return redis.call('ZRANGE', BEST, low, high, 'BYLEX', 'LIMIT', 0, 1)[1]
end

-- Replaces the lightest text by this one if it is heavier: the prefix keeps as many as it may. The
-- server decides between equal scores, because Lua compares strings by the locale.
function best.replace_lightest(prefix, key, new)
  local tail = entries.tail_of(best.lightest_of(prefix), prefix)
  local score = entries.score_in(tail) or 0 -- 0: the member was not written by tackle
  if new >= score and redis.call('ZADD', BEST, 0, entries.member(prefix, new, key)) == 1 then
    redis.call('ZREM', BEST, best.lightest_of(prefix))
  end
end

-- Enters a text with its new score. False: the prefix is not crowded, so no longer prefix is.
function best.enter(prefix, key, old, new, best_max)
  if old and redis.call('ZREM', BEST, entries.member(prefix, old, key)) == 1 then
    redis.call('ZADD', BEST, 0, entries.member(prefix, new, key))
    return true
  end
  local low, high = entries.bounds(prefix)
  local kept = redis.call('ZLEXCOUNT', BEST, low, high)
  if kept == 0 then
    if prefixes.starts_with(prefix) <= CROWD then
      return false
    end
    best.build(prefix, best_max)
  elseif kept < best_max then
    redis.call('ZADD', BEST, 0, entries.member(prefix, new, key))
  else
    best.replace_lightest(prefix, key, new)
  end
  return true
end
