-- The ranking of items. With a half-life a score is the logarithm, to the base 2, of the sum of all
-- views of the item. A view at the time t has the weight 2^(t / half-life). Old and new views keep
-- their ratio as time passes, so scores do not change with time, and never grow large. Scores of
-- two half-lives cannot be compared: the first view fixes the half-life of a ranking.
-- include: keys
-- include: shared/lasting
-- include: shared/frequent
-- include: shared/log2

local rankings = {}

local DAY_MS = 86400000
local FOREIGN_RANKING = 'DAMAGED the ranking was not written by tackle'
-- An item that nobody views is forgotten after this many half-lives.
local FORGOTTEN_AFTER = 64

-- The sum of two scores.
function rankings.add_scores(a, b, half_life)
  return half_life > 0 and log2.sum(a, b) or a + b
end

-- The score that one view adds now.
function rankings.score_of_view(now_ms, half_life)
  return half_life > 0 and now_ms / half_life or 1
end

-- Reads the ranking: its half-life in ms (-1: views never lose weight), the bound of its scores
-- (see shared/frequent), and whether both are stored already. `wanted` is the half-life that the
-- caller wants, 0 for any. A new ranking gets it, and so does a ranking that has become empty.
function rankings.read(wanted)
  local half_life, bound = unpack(redis.call('HMGET', RANKING_INFO, 'half_life', 'bound'))
  if half_life and not (tonumber(half_life) and tonumber(bound or 0)) then
    error({err = FOREIGN_RANKING})
  end
  half_life = tonumber(half_life)
  local fits = not half_life or wanted == 0 or wanted == half_life
  if not fits and redis.call('EXISTS', RANKING) == 0 then
    half_life, bound, fits = nil, nil, true
  end
  local stored = half_life ~= nil
  half_life = half_life or wanted ~= 0 and wanted or DAY_MS
  return {
    half_life = half_life,
    bound = tonumber(bound) or half_life > 0 and -math.huge or 0,
    stored = stored,
    fits = fits,
  }
end

-- Counts a view of an item. The ranking keeps at most `most` items.
function rankings.count_view(ranking, item, now_ms, most)
  local half_life = ranking.half_life
  local function add(a, b)
    return rankings.add_scores(a, b, half_life)
  end
  local view, old = rankings.score_of_view(now_ms, half_life), redis.call('ZSCORE', RANKING, item)
  if old then
    redis.call('ZADD', RANKING, decimal.exact(add(tonumber(old), view)), item)
    return
  end
  local bound = frequent.give_place(RANKING, item, view, most, ranking.bound, add)
  ranking.changed = ranking.changed or bound > ranking.bound
  ranking.bound = bound
end

-- Stores half-life and bound after views were counted. They expire together with the ranking.
function rankings.keep(ranking, now_ms)
  local half_life = ranking.half_life
  if not ranking.stored then
    redis.call('DEL', RANKING_INFO) -- may be left from a ranking that has become empty
    redis.call('HSET', RANKING_INFO, 'half_life', decimal.whole(half_life))
  end
  if ranking.changed then
    redis.call('HSET', RANKING_INFO, 'bound', decimal.exact(ranking.bound))
  end
  local till = now_ms + FORGOTTEN_AFTER * half_life
  if half_life > 0 and (not ranking.stored or redis.call('PEXPIRETIME', RANKING) < till) then
    lasting.keep_until(RANKING, till, half_life)
    lasting.keep_until(RANKING_INFO, till, half_life)
  end
end
