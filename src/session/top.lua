-- session/top: the items that all sessions viewed, the most viewed first.
-- KEYS[1...] store  see keys.inc.lua
-- ARGV[1] first      rank, from 0
-- ARGV[2] last
-- ARGV[3] half_life  ms; -1: views count the same for ever; 0: as the ranking has it
-- flags: no-writes
-- returns {half-life, bound, 1 when items of the page are left after this step, item, views, ...},
--   bound and views as text; {half-life} when the ranking has another half-life
-- include: keys
-- include: shared/clock
-- include: rankings
-- include: pages

-- Views from before the clock was set back are in the future and weigh more. The limit keeps
-- weights within the range of a double.
local EXPONENT_MAX = 1000
local first, last, half_life = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]

-- The number of views that a score is worth now, as text.
local function views_of(score, ranking, now_ms)
  if ranking.half_life > 0 then
    score = 2 ^ math.min(score - rankings.score_of_view(now_ms, ranking.half_life), EXPONENT_MAX)
  end
  return decimal.exact(score)
end

local now_ms = clock.us() / US_PER_MS -- not rounded
local ranking = rankings.read(tonumber(half_life))
if not ranking.fits then
  return {ranking.half_life}
end
local answer = {ranking.half_life, views_of(ranking.bound, ranking, now_ms), 0}
answer[3] = pages.visit(RANKING, first, last, function(item, score)
  answer[#answer + 1] = item
  answer[#answer + 1] = views_of(tonumber(score), ranking, now_ms)
end)
return answer
