-- Refilling the best of crowded prefixes, when texts leave them. The texts that a prefix does not
-- keep are lighter than the texts that it keeps. So the heaviest of them is among the best of the
-- prefixes that are one character longer, among the few texts of such prefixes that are not
-- crowded, or in the list of the texts that no longer prefix keeps. The longest prefixes are
-- therefore refilled first.
-- include: keys
-- include: best

local refill = {}

local NEXT_MAX = 64 -- most longer prefixes examined for one place
local LOOKS_MAX = 200 -- the same for all places of a text

-- The first texts of a range of TEXTS, as "score key", that `prefix` does not keep. `lightest` is
-- the last text that it keeps, or nil.
function refill.not_kept(prefix, lightest, low, high, limit)
  local below = lightest and entries.score_in(lightest) or math.huge
  local texts = redis.call('ZRANGE', TEXTS, low, high, 'BYLEX', 'LIMIT', 0, limit)
  local keys, tails = best.listed_keys(texts), {}
  local scores = #keys > 0 and redis.call('ZMSCORE', WEIGHTS, unpack(keys)) or {}
  for i, key in ipairs(keys) do
    local score = tonumber(scores[i] or nil)
    if score and (score < below
      or score == below and not redis.call('ZSCORE', BEST, entries.member(prefix, score, key))) then
      tails[#tails + 1] = entries.tail(score, key)
    end
  end
  return tails
end

-- The texts of a longer prefix that `prefix` does not keep: the heaviest, or all if they are few.
function refill.of_longer(prefix, longer, lightest)
  local low, high = entries.bounds(longer)
  if lightest then
    high = '(' .. longer .. '\0' .. lightest
  end
  local found = redis.call('ZRANGE', BEST, high, low, 'BYLEX', 'REV', 'LIMIT', 0, 1)[1]
  if found then
    return {entries.tail_of(found, longer)}
  end
  if redis.call('ZLEXCOUNT', BEST, entries.bounds(longer)) > 0 then
    return {}
  end
  return refill.not_kept(prefix, lightest, '[' .. longer, prefixes.above(longer), CROWD)
end

-- The heaviest of the texts, as members; several if they are equal.
function refill.heaviest(prefix, tails)
  local most, members = 0, {}
  for _, text in ipairs(tails) do
    local score = entries.score_in(text) or 0
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

-- Finds a text for the place of a removed one. Returns how many prefixes were examined, including
-- itself.
function refill.place(prefix, best_max, longest, most)
  local lightest = best.lightest_of(prefix)
  lightest = lightest and entries.tail_of(lightest, prefix)
  if lightest and not entries.score_in(lightest) then
    return 1 -- not written by tackle
  end
  local low, high = entries.bounds(prefix)
  local tails, looks = refill.of_longer(prefix, entries.last_list(prefix), lightest), 1
  -- The last list of one of the longest prefixes has all of its texts.
  if not prefixes.may_be_last(prefix, nil, longest) then
    prefixes.each_next(prefix, math.min(NEXT_MAX, most), function(character)
      looks = looks + 1
      for _, text in ipairs(refill.of_longer(prefix, prefix .. character, lightest)) do
        tails[#tails + 1] = text
      end
    end)
  end
  local members = refill.heaviest(prefix, tails)
  if #members > 0 then
    redis.call('ZADD', BEST, unpack(members))
    local over = redis.call('ZLEXCOUNT', BEST, low, high) - best_max
    if over > 0 then
      local lightest_ones = redis.call('ZRANGE', BEST, low, high, 'BYLEX', 'LIMIT', 0, over)
      redis.call('ZREM', BEST, unpack(lightest_ones))
    end
  end
  return looks
end

-- Removes a text from the prefixes of one of its starts. `known`: whether visited prefixes are
-- crowded. `gaps`: gets the prefixes that kept the text.
function refill.leave(start, reach, key, score, longest, known, gaps)
  local crowded = true -- if not, longer prefixes are not crowded, either
  prefixes.each(start, reach, function(prefix)
    if known[prefix] == nil then
      known[prefix] = crowded and prefixes.starts_with(prefix) > CROWD
      if not known[prefix] then
        redis.call('ZREMRANGEBYLEX', BEST, entries.bounds(prefix))
        redis.call('ZREMRANGEBYLEX', BEST, entries.bounds(entries.last_list(prefix)))
      elseif redis.call('ZREM', BEST, entries.member(prefix, score, key)) == 1 then
        gaps[#gaps + 1] = prefix
      end
    end
    crowded = known[prefix]
    if crowded and prefixes.may_be_last(prefix, start, longest) then
      redis.call('ZREM', BEST, entries.member(entries.last_list(prefix), score, key))
    end
    return true
  end)
end

-- Fills the places of a removed text, in the longest prefixes first.
function refill.fill_gaps(gaps, best_max, longest)
  table.sort(gaps, function(a, b) return #a > #b end)
  local looks = 0
  for _, prefix in ipairs(gaps) do
    local kept = redis.call('ZLEXCOUNT', BEST, entries.bounds(prefix))
    if looks < LOOKS_MAX and prefixes.starts_with(prefix) > kept then
      looks = looks + refill.place(prefix, best_max, longest, LOOKS_MAX - looks)
    end
  end
end
