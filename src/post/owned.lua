-- post/owned: count own messages of members, each from an id on.
-- KEYS[1...] post    see keys.inc.lua
-- ARGV[1...] members, each followed by its id
-- flags: no-writes
-- returns the number of each member, in the same order
-- include: keys
-- include: messages
-- include: own

local mailbag = messages.read()
local counts = {}
for i = 1, #ARGV, 2 do
  counts[#counts + 1] = own.count(ARGV[i], tonumber(ARGV[i + 1]), mailbag.last)
end
return counts
