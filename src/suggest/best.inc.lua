-- The best texts of crowded prefixes. A prefix with more than CROWD starts keeps its BEST_MAX
-- heaviest texts in BEST. TEXTS has all starts of another prefix in one short range.
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

-- Enters texts, members of TEXTS, into a list of BEST. Returns how many the list has got.
function best.enter_all(list, texts)
  local keys, members = best.listed_keys(texts), {}
  local scores = #keys > 0 and redis.call('ZMSCORE', WEIGHTS, unpack(keys)) or {}
  for i, key in ipairs(keys) do
    if scores[i] then
      members[#members + 1] = 0
      members[#members + 1] = entries.member(list, tonumber(scores[i]), key)
    end
  end
  return #members > 0 and redis.call('ZADD', BEST, unpack(members)) or 0
end

-- Builds the lists of a prefix that has become crowded, from all its texts. One text may have added
-- many starts at once.
function best.build(prefix, best_max, longest)
  local found = redis.call('ZRANGE', TEXTS, '[' .. prefix, prefixes.above(prefix), 'BYLEX',
                           'LIMIT', 0, best_max + TKL__SUGGEST_STARTS_MAX)
  local last = {}
  for _, text in ipairs(found) do
    if prefixes.may_be_last(prefix, string.match(text, '^[^%z]*'), longest) then
      last[#last + 1] = text
    end
  end
  best.enter_all(entries.last_list(prefix), last)
  local kept = best.enter_all(prefix, found)
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

-- Enters a text with its new score into the lists of a prefix of one of its starts. False: the
-- prefix is not crowded, so no prefix that is longer is crowded, either.
function best.enter(prefix, start, key, old, new, best_max, longest)
  if old and redis.call('ZREM', BEST, entries.member(prefix, old, key)) == 1 then
    redis.call('ZADD', BEST, 0, entries.member(prefix, new, key))
  else
    local low, high = entries.bounds(prefix)
    local kept = redis.call('ZLEXCOUNT', BEST, low, high)
    if kept == 0 and prefixes.starts_with(prefix) <= CROWD then
      return false
    elseif kept == 0 then
      best.build(prefix, best_max, longest)
      return true
    elseif kept < best_max then
      redis.call('ZADD', BEST, 0, entries.member(prefix, new, key))
    else
      best.replace_lightest(prefix, key, new)
    end
  end
  if prefixes.may_be_last(prefix, start, longest) then
    local last = entries.last_list(prefix)
    if old then
      redis.call('ZREM', BEST, entries.member(last, old, key))
    end
    redis.call('ZADD', BEST, 0, entries.member(last, new, key))
  end
  return true
end
