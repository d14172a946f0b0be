-- suggest/feed: raise the weights of texts.
-- KEYS[1...] suggestions  see keys.inc.lua
-- ARGV[1] settings   of the caller; new suggestions get them
-- ARGV[2] ttl        milliseconds, or 0
-- ARGV[3] half_life  milliseconds, or 0
-- ARGV[4] best_max   texts that a prefix keeps
-- ARGV[5] texts_max  texts, or 0 for no limit
-- ARGV[6...] fed     four for each text: key, weight, text as it is shown or '', its starts
-- returns how many are new, or the settings when the caller's differ
-- include: keys
-- include: shared/clock
-- include: shared/decimal
-- include: shared/log2
-- include: fed

-- With decay a score is the logarithm of the weight at the time `since`: a weight that is fed later
-- counts for more. So scores do not change with time, and never overflow.
local LIGHT = 30          -- halvings below one after which a text is forgotten
local FIRST_TEXT, TEXT_ARGUMENTS = 6, 4
local settings, ttl = ARGV[1], ARGV[2]
local longest = fed.longest_of(settings)
local half_life, best_max, texts_max = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])

local stored, since = unpack(redis.call('HMGET', META, 'settings', 'since'))
if stored and stored ~= settings then
  return stored
end
fed.check_keys(stored)
local scores = {}
for i = FIRST_TEXT, #ARGV, TEXT_ARGUMENTS do
  local key = ARGV[i]
  scores[key] = fed.score_of(key)
end

local now = clock.ms()
since = tonumber(since or now) or now
local age = half_life > 0 and math.max(0, now - since) / half_life
redis.call('HSET', META, 'settings', settings, 'since', string.format('%.0f', since))

-- The score of a text after a weight was added to it.
local function raised(old, weight)
  if not age then
    return (old or 0) + weight
  end
  local fresh = TKL__SUGGEST_SCORE_OF_ONE + log2.of(weight) + age
  return old and log2.sum(old, fresh) or fresh
end

-- Removes the lightest text, unless it is this one, if there are too many texts or it has faded.
local function tidy(key)
  local many = texts_max > 0 and redis.call('ZCARD', WEIGHTS) > texts_max
  if not many and not age then
    return
  end
  local lightest, score, second, second_score =
    unpack(redis.call('ZRANGE', WEIGHTS, 0, 1, 'WITHSCORES'))
  if lightest == key then
    lightest, score = second, second_score
  end
  score = tonumber(score or math.huge)
  local faded = age and score < TKL__SUGGEST_SCORE_OF_ONE + age - LIGHT
  if lightest and (many or faded) then
    fed.remove(lightest, score, 0, longest)
    scores[lightest] = nil
  end
end

-- Adds the starts of a new text.
local function add_starts(key, lines)
  local _, first = string.find(lines, '^%d+ [^%z]*%z?')
  local others = string.sub(lines, first + 1)
  redis.call('ZADD', TEXTS, 0, key .. '\0')
  fed.each_start(others, function(start, reach)
    redis.call('ZADD', TEXTS, 0, fed.start_member(start, reach, key))
  end)
  if others ~= '' then
    redis.call('HSET', STARTS, key, others)
  end
end

local added = 0
for i = FIRST_TEXT, #ARGV, TEXT_ARGUMENTS do
  local key, weight, shown, lines = unpack(ARGV, i, i + TEXT_ARGUMENTS - 1)
  local old = scores[key]
  local score = decimal.exact(raised(old, tonumber(weight)))
  local new = tonumber(score)
  redis.call('ZADD', WEIGHTS, score, key)
  scores[key] = new
  if not old then
    added = added + 1
    add_starts(key, lines)
  end
  if shown ~= '' then
    redis.call('HSET', SHOWN, key, shown)
  elseif old then
    redis.call('HDEL', SHOWN, key)
  end
  fed.each_start(lines, function(start, reach)
    prefixes.each(start, reach, function(prefix)
      return best.enter(prefix, start, key, old, new, best_max, longest)
    end)
  end)
  if age or not old then
    tidy(key)
  end
end
fed.expire_in(ttl)
return added
