-- suggest/feed: raise the weights of texts.
-- KEYS[1] meta       hash: settings, since (milliseconds; decay is counted from it)
-- KEYS[2] weights    sorted set: key, score
-- KEYS[3] texts      sorted set by bytes: "start NUL key", or "key NUL"
-- KEYS[4] best       sorted set by bytes: "prefix NUL score key"
-- KEYS[5] shown      hash: key, text as it is shown if that is another
-- KEYS[6] starts     hash: key, its starts but the first
-- ARGV[1] settings   of the caller; those of suggestions that are new
-- ARGV[2] ttl        milliseconds, or 0
-- ARGV[3] half_life  milliseconds, or 0
-- ARGV[4] best_max   texts that a prefix keeps
-- ARGV[5] texts_max  texts, or 0 for no limit
-- ARGV[6...] fed     four for each text: key, weight, text as it is shown or '', its starts
-- returns how many are new, or the settings when they are others

local META, WEIGHTS, TEXTS, BEST, SHOWN, STARTS = unpack(KEYS)
-- include: texts

-- With decay a score is the logarithm of the weight at the time `since`, so that nothing has to be
-- touched while time passes, and nothing overflows: a weight fed later counts for more.
local SCORE_OF_ONE = 1024 -- at that time; so scores are positive and sort as bytes
local LIGHT = 30          -- halvings below one after which a text is forgotten

local settings, ttl = ARGV[1], ARGV[2]
local half_life, best_max, texts_max = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local meta = redis.call('HMGET', META, 'settings', 'since')
if meta[1] and meta[1] ~= settings then
  return meta[1]
end
check_keys(meta[1])
local scores = {}
for i = 6, #ARGV, 4 do
  scores[ARGV[i]] = score_of(ARGV[i])
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local since = tonumber(meta[2] or now) or now
local age = half_life > 0 and math.max(0, now - since) / half_life
redis.call('HSET', META, 'settings', settings, 'since', string.format('%.0f', since))

local function log2(number)
  return math.log(number) / math.log(2)
end

local function raised(old, weight)
  if not age then
    return (old or 0) + weight
  end
  local fresh = SCORE_OF_ONE + log2(weight) + age
  if not old then
    return fresh
  end
  local more, less = math.max(old, fresh), math.min(old, fresh)
  return more + log2(1 + 2 ^ (less - more))
end

-- Removes the lightest text, but not this one, if there are too many or it has faded.
local function tidy(key)
  local many = texts_max > 0 and redis.call('ZCARD', WEIGHTS) > texts_max
  if not many and not age then
    return
  end
  local lightest = redis.call('ZRANGE', WEIGHTS, 0, 1, 'WITHSCORES')
  local at = lightest[1] == key and 3 or 1
  local score = tonumber(lightest[at + 1] or math.huge)
  local faded = age and score < SCORE_OF_ONE + age - LIGHT
  if lightest[at] and (many or faded) then
    take_out(lightest[at], score, 0)
    scores[lightest[at]] = nil
  end
end

local function add_starts(key, lines)
  local _, first = string.find(lines, '^%d+ [^%z]*%z?')
  local others = string.sub(lines, first + 1)
  redis.call('ZADD', TEXTS, 0, key .. '\0')
  each_start(others, function(start, reach)
    redis.call('ZADD', TEXTS, 0, start_member(start, reach, key))
  end)
  if others ~= '' then
    redis.call('HSET', STARTS, key, others)
  end
end

local added = 0
for i = 6, #ARGV, 4 do
  local key, weight, shown, lines = ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2], ARGV[i + 3]
  local old = scores[key]
  local score = string.format('%.17g', raised(old, weight))
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
  each_start(lines, function(start, reach)
    each_prefix(start, reach, function(prefix)
      return enter_best(prefix, key, old, new, best_max)
    end)
  end)
  if age or not old then
    tidy(key)
  end
end
expire_in(ttl)
return added
