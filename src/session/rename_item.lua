-- session/rename_item: rename an item; its views are added to the views of the new name.
-- KEYS[1...] store  see keys.inc.lua
-- ARGV[1] item
-- ARGV[2] name
-- ARGV[3] half_life  ms; -1: views count the same for ever; 0: as the ranking has it
-- returns TKL_OK; TKL_NOTFOUND when the item is not in the ranking; {half-life} when the ranking
--   has another half-life
-- include: keys
-- include: rankings

local item, name, half_life = unpack(ARGV)

local score = redis.call('ZSCORE', RANKING, item)
if not score then
  return TKL_NOTFOUND
end
local ranking = rankings.read(tonumber(half_life))
if not ranking.fits then
  return {ranking.half_life}
end
if item ~= name then
  local other = redis.call('ZSCORE', RANKING, name)
  local both = other and rankings.add_scores(tonumber(score), tonumber(other), ranking.half_life)
  redis.call('ZADD', RANKING, both and decimal.exact(both) or score, name)
  redis.call('ZREM', RANKING, item)
end
return TKL_OK
