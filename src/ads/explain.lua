-- ads/explain: what one ad is worth on a page, or why it is not shown there. Changes nothing.
-- KEYS[1...] set      see keys.inc.lua
-- ARGV[1] ad
-- ARGV[2] locations   their number
-- ARGV[3] traits      the number of parameters of the viewer
-- ARGV[4...] page     locations; kind and value of each parameter; words
-- returns nil, or {type, score, base, location or '', kind that is not met or '', until or '0',
-- then word and eCPM of each match}

-- include: keys
-- include: money
-- include: page

local FIRST_LOCATION = 4 -- of the arguments
local ad, places, traits = unpack(ARGV)
local terms = read_terms(ad)
if not terms then
  return false
end
local page = read_page(ARGV, FIRST_LOCATION, tonumber(places), tonumber(traits))
local values = read_values(ad)
local clock = read_clock()
local found = score_of(values, page)
local back = redis.call('ZSCORE', DUE, ad)
local closed = back and closed_until(terms, spent_today(ad, clock), clock)
local reply = {terms.type, exact(found.score), exact(found.base), first_location(page, terms) or '',
  first_unmet(values.needs, page.viewer) or '', closed and string.format('%.0f', closed) or '0'}
for _, word in ipairs(found.words) do
  reply[#reply + 1] = word
  reply[#reply + 1] = exact(found.ecpm[word])
end
return reply
