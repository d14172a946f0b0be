-- session/rename_item: the views of an item become those of another name.
-- KEYS[1...] store  see keys.inc.lua
-- ARGV[1] item
-- ARGV[2] name
-- ARGV[3] half_life  ms; -1: views count the same for ever
-- returns TKL_OK, or TKL_NOTFOUND when the item is not in the ranking
-- include: keys
local item, name, half_life = unpack(ARGV)
-- include: shared/codes
-- include: ranking

local score = redis.call('ZSCORE', RANKING, item)
if not score then
  return TKL_NOTFOUND
end
if item ~= name then
  local other = redis.call('ZSCORE', RANKING, name)
  local both = other and score_text(add_scores(tonumber(score), tonumber(other), tonumber(half_life)))
  redis.call('ZADD', RANKING, both or score, name)
  redis.call('ZREM', RANKING, item)
end
return TKL_OK
