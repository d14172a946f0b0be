-- The ranking of items. With a half-life a score is the logarithm, to the base 2, of the sum of all
-- views of the item, a view at the time t weighing 2^(t / half-life). Old and new views keep their
-- ratio as time passes, so scores never have to be changed for that, and never grow large.
-- include: keys

-- An item that nobody views is forgotten after so many half-lives.
local FORGOTTEN_AFTER = 64

local function score_text(score)
  return string.format('%.17g', score)
end

-- log2(2^a + 2^b)
local function sum_of(a, b)
  local more, less = math.max(a, b), math.min(a, b)
  return more + math.log(1 + 2 ^ (less - more)) / math.log(2)
end

-- Two scores as one.
local function add_scores(a, b, half_life)
  return half_life > 0 and sum_of(a, b) or a + b
end

-- What one view now adds.
local function score_of_view(now_ms, half_life)
  return half_life > 0 and now_ms / half_life or 1
end

-- Counts a view. Beyond `most` items the one viewed least makes room.
local function rank(item, now_ms, half_life, most)
  local old, view = redis.call('ZSCORE', RANKING, item), score_of_view(now_ms, half_life)
  local score = old and add_scores(tonumber(old), view, half_life) or view
  redis.call('ZADD', RANKING, score_text(score), item)
  if redis.call('ZCARD', RANKING) > most then
    redis.call('ZPOPMIN', RANKING)
  end
  if half_life > 0 then
    redis.call('PEXPIRE', RANKING, string.format('%d', half_life * FORGOTTEN_AFTER))
  end
end
