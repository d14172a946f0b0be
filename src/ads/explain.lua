-- ads/explain: compute the worth of one ad on a page, or why it is not shown there.
-- KEYS[1...] set      see keys.inc.lua
-- ARGV[1] ad
-- ARGV[2] locations   their number
-- ARGV[3] traits      the number of parameters of the viewer
-- ARGV[4...] page     locations; kind and value of each parameter; words
-- flags: no-writes
-- returns nil, or {type, score, base, location or '', kind that is not met or '', until or '0',
--   rank, then word and eCPM of each match}
-- include: keys
-- include: money
-- include: pages

local FIRST_LOCATION = 4 -- index of the first location in the arguments
local ad, places, traits = unpack(ARGV)

local terms = records.read_terms(ad)
if not terms then
  return false
end
local page = pages.read(ARGV, FIRST_LOCATION, tonumber(places), tonumber(traits))
local values = records.read_values(ad)
local calendar = money.read_calendar()
local found = pages.score_of(values, page)
local back = redis.call('ZSCORE', DUE, ad)
local closed = back and money.closed_until(terms, money.spent_today(ad, calendar), calendar)
local reply = {
  terms.type, decimal.exact(found.score), decimal.exact(found.base),
  pages.first_location(page, terms) or '', pages.first_unmet(values.needs, page.viewer) or '',
  closed and decimal.whole(closed) or '0', decimal.exact(found.rank),
}
for _, word in ipairs(found.words) do
  reply[#reply + 1] = word
  reply[#reply + 1] = decimal.exact(found.ecpm[word])
end
return reply
