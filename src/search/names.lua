-- search/names: the terms that :terms lists, or the terms with a bitmap that it does not list.
-- KEYS[1...] shard  see keys.inc.lua
-- ARGV[1] token   of the index
-- ARGV[2] common  1: the terms with a bitmap
-- ARGV[3] cursor  '' at first: the last term; or a cursor of HSCAN
-- flags: no-writes
-- returns 'stale', or {cursor or '' at the end, terms}
-- include: keys

local AT_ONCE = 200
local token, common, cursor = unpack(ARGV)

-- Whether a check reaches this term anyway: :terms lists it, or the word that documents have
-- several times. Bands of lengths are always reached.
local function is_known(name)
  local own = string.gsub(name, '^m[248]', 'w')
  return string.find(name, '^l%d+$') or redis.call('ZSCORE', TERMS, own)
end

if redis.call('HGET', META, 'token') ~= token then
  return 'stale'
elseif common ~= '1' then
  local names = redis.call('ZRANGE', TERMS, cursor == '' and '-' or '(' .. cursor, '+', 'BYLEX',
                           'LIMIT', 0, AT_ONCE)
  return {#names == AT_ONCE and names[AT_ONCE] or '', names}
end
local behind, entries = unpack(redis.call('HSCAN', COMMON, cursor == '' and '0' or cursor,
                                          'COUNT', AT_ONCE))
local names = {}
for i = 1, #entries, 2 do
  if not is_known(entries[i]) then
    names[#names + 1] = entries[i]
  end
end
return {behind == '0' and '' or behind, names}
