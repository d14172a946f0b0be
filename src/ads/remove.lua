-- ads/remove: an ad, with all that was counted for it.
-- KEYS[1...] set      see keys.inc.lua
-- ARGV[1] ad
-- returns 1, or 0 when there is none of that name

-- include: keys
-- include: gate

local ad = ARGV[1]

local function forget_counts(words)
  local fields = {}
  for _, what in ipairs({'views', 'clicks', 'actions', 'spent', 'day', 'today'}) do
    fields[#fields + 1] = what .. ':' .. ad
  end
  redis.call('HDEL', COUNTS, unpack(fields))
  fields = {}
  for _, word in ipairs(words) do
    for _, what in ipairs({'views', 'clicks', 'actions', 'spent'}) do
      fields[#fields + 1] = of_word(what, word, ad)
    end
  end
  if #fields > 0 then
    redis.call('HDEL', WORDS, unpack(fields))
  end
end

local terms = read_terms(ad)
if not terms then
  return 0
end
check_types({META, COUNTS, WORDS, HEADS, GATES}, {INDEX, TURN})
local values = read_values(ad)
if not redis.call('ZSCORE', DUE, ad) then
  move(ad, place_of(terms, values), {})
end
redis.call('ZREM', DUE, ad)
redis.call('ZREM', TURN, ad)
redis.call('HDEL', ADS, ad)
redis.call('HDEL', VALUES, ad)
forget_counts(values.words)
leave_kinds(terms.kinds)
return 1
