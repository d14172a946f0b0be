-- session/view: count views of items in the ranking, without a session.
-- KEYS[1...] store  see keys.inc.lua
-- ARGV[1] ranked     items in the ranking
-- ARGV[2] half_life  ms; -1: views count the same for ever; 0: as the ranking has it
-- ARGV[3...] items   one for each view
-- returns TKL_OK; {half-life} when the ranking has another half-life
-- include: keys
-- include: shared/clock
-- include: rankings

local FIRST_ITEM = 3 -- index of the first item in the arguments
local most_ranked, half_life = tonumber(ARGV[1]), tonumber(ARGV[2])

local now = clock.us()
local ranking = rankings.read(half_life)
if not ranking.fits then
  return {ranking.half_life}
end
for i = FIRST_ITEM, #ARGV do
  rankings.count_view(ranking, ARGV[i], now / US_PER_MS, most_ranked)
end
rankings.keep(ranking, clock.to_ms(now))
return TKL_OK
