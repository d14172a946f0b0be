-- search/sizes: how many documents have each of some terms, including dead ones.
-- KEYS[1...] shard  see keys.inc.lua; then the keys of the terms
-- ARGV[1] token   of the index
-- ARGV[2] skip    bytes of a term's key before the term
-- flags: no-writes
-- returns 'stale', or the sizes
-- include: keys
-- include: plans

local FIRST_TERM = SHARD_KEYS + 1
local token, skip = unpack(ARGV)

local index = indexes.read()
if index.token ~= token then
  return 'stale'
end
local sizes = {}
for i, operand in ipairs(plans.term_operands(KEYS, FIRST_TERM, tonumber(skip), index.next)) do
  sizes[i] = operand.size
end
return sizes
