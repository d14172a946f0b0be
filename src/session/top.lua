-- session/top: what all sessions viewed, the most viewed first.
-- KEYS[1...] store  see keys.inc.lua
-- ARGV[1] first      rank, from 0
-- ARGV[2] last
-- ARGV[3] half_life  ms; -1: views count the same for ever
-- returns {item, views, ...}, the views as text
-- include: keys
local first, last, half_life = unpack(ARGV)
-- include: shared/clock
-- include: ranking

-- Views from before the clock was set back lie ahead and weigh more: up to what a double holds.
local EXPONENT_MAX = 1000

half_life = tonumber(half_life)
local now_ms = clock_us() / US_PER_MS -- not rounded
local answer = redis.call('ZRANGE', RANKING, first, last, 'REV', 'WITHSCORES')
for i = 2, half_life > 0 and #answer or 0, 2 do
  local exponent = answer[i] - score_of_view(now_ms, half_life)
  answer[i] = score_text(2 ^ math.min(exponent, EXPONENT_MAX))
end
return answer
