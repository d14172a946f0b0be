-- ads/list: some of the ads, with what was counted for each.
-- KEYS[1...] set      see keys.inc.lua
-- ARGV[1] cursor   of HSCAN
-- returns {cursor, then for each ad: ad, type, price, views, clicks, actions, spent, eCPM}; an ad
-- may come twice

-- include: keys
-- include: record

local SOME = 30
local cursor = ARGV[1]

local function ecpm_of_ad(ad)
  local text = redis.call('HGET', VALUES, ad)
  local base = text and string.match(text, '^b([^%z]*)%z')
  return exact(read_ecpm(base) or damaged(ad))
end

local next_cursor, found = unpack(redis.call('HSCAN', ADS, cursor, 'COUNT', SOME))
local reply = {next_cursor}
for i = 1, #found, 2 do
  local ad = found[i]
  local terms = unpack_terms(ad, found[i + 1])
  local counts = redis.call('HMGET', COUNTS, 'views:' .. ad, 'clicks:' .. ad, 'actions:' .. ad,
    'spent:' .. ad)
  reply[#reply + 1] = ad
  reply[#reply + 1] = terms.type
  reply[#reply + 1] = string.format('%.0f', terms.price)
  for _, number in ipairs(counts) do
    reply[#reply + 1] = number or '0'
  end
  reply[#reply + 1] = ecpm_of_ad(ad)
end
return reply
