-- The best texts of crowded prefixes.
-- A prefix with more than CROWD starts keeps its BEST_MAX heaviest texts in BEST. Of other prefixes
-- TEXTS has all in one short range.
-- include: keys
-- include: members
-- include: prefixes

local STARTS_MAX = 50 -- of a text

-- The keys in members of TEXTS that crowded prefixes may keep.
local function listed_keys(texts)
  local keys = {}
  for _, text in ipairs(texts) do
    local key, unlisted = key_of(text)
    if not unlisted then
      keys[#keys + 1] = key
    end
  end
  return keys
end

-- A prefix has become crowded: all its texts with their weights. A text may have brought many
-- starts at once.
local function build_best(prefix, best_max)
  local found = redis.call('ZRANGE', TEXTS, '[' .. prefix, above(prefix), 'BYLEX', 'LIMIT', 0,
                           best_max + STARTS_MAX)
  local keys, members = listed_keys(found), {}
  local scores = #keys > 0 and redis.call('ZMSCORE', WEIGHTS, unpack(keys)) or {}
  for i, key in ipairs(keys) do
    if scores[i] then
      members[#members + 1] = 0
      members[#members + 1] = member(prefix, tonumber(scores[i]), key)
    end
  end
  local kept = #members > 0 and redis.call('ZADD', BEST, unpack(members)) or 0
  if kept > best_max then
    local low, high = bounds(prefix)
    local light = redis.call('ZRANGE', BEST, low, high, 'BYLEX', 'LIMIT', 0, kept - best_max)
    redis.call('ZREM', BEST, unpack(light))
  end
end

local function lightest_of(prefix)
  local low, high = bounds(prefix)
  return redis.call('ZRANGE', BEST, low, high, 'BYLEX', 'LIMIT', 0, 1)[1]
end

-- A prefix that keeps as many as it may: the text takes the place of the lightest, if it is heavier.
-- Of equal ones the server decides: how Lua compares strings depends on the locale.
local function replace_lightest(prefix, key, new)
  local score = score_in(tail_of(lightest_of(prefix), prefix)) or 0 -- else not written by tackle
  if new >= score and redis.call('ZADD', BEST, 0, member(prefix, new, key)) == 1 then
    redis.call('ZREM', BEST, lightest_of(prefix))
  end
end

-- A text has got a new score. False: the prefix is not crowded, and so no longer one is.
local function enter_best(prefix, key, old, new, best_max)
  if old and redis.call('ZREM', BEST, member(prefix, old, key)) == 1 then
    redis.call('ZADD', BEST, 0, member(prefix, new, key))
    return true
  end
  local low, high = bounds(prefix)
  local kept = redis.call('ZLEXCOUNT', BEST, low, high)
  if kept == 0 then
    if starts_with(prefix) <= CROWD then
      return false
    end
    build_best(prefix, best_max)
  elseif kept < best_max then
    redis.call('ZADD', BEST, 0, member(prefix, new, key))
  else
    replace_lightest(prefix, key, new)
  end
  return true
end
