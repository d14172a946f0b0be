-- ads/list: some of the ads, with the counts of each.
-- KEYS[1...] set      see keys.inc.lua
-- ARGV[1] cursor   of HSCAN
-- flags: no-writes
-- returns {cursor, then for each ad: ad, type, price, views, clicks, actions, spent, eCPM,
--   bound}; an ad may occur twice
-- include: keys
-- include: records

local SOME = 30
local cursor = ARGV[1]

-- The eCPM and the bound, which are at the beginning of the values.
local function values_of_ad(ad)
  local text = redis.call('HGET', VALUES, ad) or ''
  local base = records.read_ecpm(string.match(text, '^b([^%z]*)%z')) or records.damaged(ad)
  local bound = records.read_ecpm(string.match(text, '^b[^%z]*%zu([^%z]*)%z')) or base
  return decimal.exact(base), decimal.exact(bound)
end

local next_cursor, found = unpack(redis.call('HSCAN', ADS, cursor, 'COUNT', SOME))
local reply = {next_cursor}
for i = 1, #found, 2 do
  local ad = found[i]
  local terms = records.unpack_terms(ad, found[i + 1])
  reply[#reply + 1] = ad
  reply[#reply + 1] = terms.type
  reply[#reply + 1] = decimal.whole(terms.price)
  for _, number in ipairs(records.read_counts(ad)) do
    reply[#reply + 1] = number or '0'
  end
  local base, bound = values_of_ad(ad)
  reply[#reply + 1] = base
  reply[#reply + 1] = bound
end
return reply
