-- search/prefix: one step through the terms between two bounds; common terms have their counts.
-- KEYS[1...] shard  see keys.inc.lua
-- ARGV[1] low   bound as ZRANGE BYLEX takes it
-- ARGV[2] high  ditto
-- ARGV[3] most  terms of this step
-- ARGV[4] rare  how many terms that are not common are wanted
-- flags: no-writes
-- returns {the term to go on behind, '' at the end; each common term and its count; other terms}
-- include: keys

local low, high, most, rare = unpack(ARGV)
most, rare = tonumber(most), tonumber(rare)

local names = redis.call('ZRANGE', TERMS, low, high, 'BYLEX', 'LIMIT', 0, most)
if #names == 0 then
  return {'', {}, {}}
end
local counts, common, others = redis.call('HMGET', COMMON, unpack(names)), {}, {}
for i, name in ipairs(names) do
  if counts[i] then
    common[#common + 1], common[#common + 2] = name, tonumber(counts[i]) or 0
  elseif #others < rare then
    others[#others + 1] = name
  end
end
return {#names == most and names[#names] or '', common, others}
