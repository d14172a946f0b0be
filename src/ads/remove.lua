-- ads/remove: remove an ad with its counts.
-- KEYS[1...] set      see keys.inc.lua
-- ARGV[1] ad
-- flags: allow-oom
-- returns 1, or 0 when there is none of that name
-- include: keys
-- include: gating

local ad = ARGV[1]

local terms = records.read_terms(ad)
if not terms then
  return 0
end
types.check_hashes(META, COUNTS, WORDS, HEADS, GATES)
types.check_zsets(INDEX, TURN)
local values = records.read_values(ad)
if not redis.call('ZSCORE', DUE, ad) then
  index.move(ad, index.place_of(terms, values), {})
end
redis.call('ZREM', DUE, ad)
redis.call('ZREM', TURN, ad)
redis.call('HDEL', ADS, ad)
redis.call('HDEL', VALUES, ad)
for _, what in ipairs({'views', 'clicks', 'actions', 'spent', 'day', 'today'}) do
  redis.call('HDEL', COUNTS, what .. ':' .. ad)
end
records.remove_words(ad, values.words)
gating.leave_kinds(terms.kinds)
return 1
