-- Texts that leave the best of crowded prefixes, and those that take their places.
-- What a prefix does not keep is lighter than what it keeps. So the heaviest of it is among the best
-- of the prefixes that are one character longer, or among the few texts of those that are not
-- crowded. The longest prefixes are therefore refilled first.
-- include: keys
-- include: best

local NEXT_MAX = 64 -- longer prefixes that are looked at for one place
local LOOKS_MAX = 200 -- and for all places of a text
local EQUAL_MAX = 10 -- texts whose start is the prefix itself

-- The first texts of a range of TEXTS, as "score key", that `prefix` does not keep; `lightest` is the
-- last that it keeps, or nil.
local function not_kept(prefix, lightest, low, high, limit)
  local below = lightest and score_in(lightest) or math.huge
  local texts = redis.call('ZRANGE', TEXTS, low, high, 'BYLEX', 'LIMIT', 0, limit)
  local keys, tails = listed_keys(texts), {}
  local scores = #keys > 0 and redis.call('ZMSCORE', WEIGHTS, unpack(keys)) or {}
  for i, key in ipairs(keys) do
    local score = tonumber(scores[i] or nil)
    if score and (score < below
      or score == below and not redis.call('ZSCORE', BEST, member(prefix, score, key))) then
      tails[#tails + 1] = tail(score, key)
    end
  end
  return tails
end

-- The same for the texts of a longer prefix: the heaviest, or all if they are few.
local function of_longer(prefix, longer, lightest)
  local low, high = bounds(longer)
  if lightest then
    high = '(' .. longer .. '\0' .. lightest
  end
  local found = redis.call('ZRANGE', BEST, high, low, 'BYLEX', 'REV', 'LIMIT', 0, 1)[1]
  if found then
    return {tail_of(found, longer)}
  end
  if redis.call('ZLEXCOUNT', BEST, bounds(longer)) > 0 then
    return {}
  end
  return not_kept(prefix, lightest, '[' .. longer, above(longer), CROWD)
end

-- The heaviest of the texts, as members; several when they are equal.
local function heaviest(prefix, tails)
  local most, members = 0, {}
  for _, text in ipairs(tails) do
    local score = score_in(text) or 0
    if score > most then
      most, members = score, {}
    end
    if score > 0 and score == most then
      members[#members + 1] = 0
      members[#members + 1] = prefix .. '\0' .. text
    end
  end
  return members
end

-- One text for the place of one that has gone. Returns how many prefixes were looked at, with itself.
local function refill(prefix, best_max, most)
  local lightest = lightest_of(prefix)
  lightest = lightest and tail_of(lightest, prefix)
  if lightest and not score_in(lightest) then
    return 1 -- not written by tackle
  end
  local low, high = bounds(prefix)
  local tails, looks = not_kept(prefix, lightest, low, high, EQUAL_MAX), 1
  each_next(prefix, math.min(NEXT_MAX, most), function(character)
    looks = looks + 1
    for _, text in ipairs(of_longer(prefix, prefix .. character, lightest)) do
      tails[#tails + 1] = text
    end
  end)
  local members = heaviest(prefix, tails)
  if #members > 0 then
    redis.call('ZADD', BEST, unpack(members))
    local over = redis.call('ZLEXCOUNT', BEST, low, high) - best_max
    if over > 0 then
      redis.call('ZREM', BEST, unpack(redis.call('ZRANGE', BEST, low, high, 'BYLEX', 'LIMIT', 0, over)))
    end
  end
  return looks
end

-- A text that has gone leaves the prefixes of one of its starts. `known`: whether those that were
-- visited are crowded. `gaps`: those that kept it are added.
local function leave_best(start, reach, key, score, known, gaps)
  local crowded = true -- then longer ones may be; otherwise they are not
  each_prefix(start, reach, function(prefix)
    if known[prefix] == nil then
      known[prefix] = crowded and starts_with(prefix) > CROWD
      if not known[prefix] then
        redis.call('ZREMRANGEBYLEX', BEST, bounds(prefix))
      elseif redis.call('ZREM', BEST, member(prefix, score, key)) == 1 then
        gaps[#gaps + 1] = prefix
      end
    end
    crowded = known[prefix]
    return true
  end)
end

local function fill_gaps(gaps, best_max)
  table.sort(gaps, function(a, b) return #a > #b end)
  local looks = 0
  for _, prefix in ipairs(gaps) do
    local kept = redis.call('ZLEXCOUNT', BEST, bounds(prefix))
    if looks < LOOKS_MAX and starts_with(prefix) > kept then
      looks = looks + refill(prefix, best_max, LOOKS_MAX - looks)
    end
  end
end
