-- post/owned: how many messages are members' own: those from an id on up to the last.
-- KEYS[1...] post    see keys.inc.lua
-- ARGV[1...] members, each followed by that id
-- flags: no-writes
-- returns numbers, in this order
-- include: keys
-- include: messages
-- include: own

local mailbag = messages.read()
local counts = {}
for i = 1, #ARGV, 2 do
  counts[#counts + 1] = own.count(ARGV[i], tonumber(ARGV[i + 1]), mailbag.last)
end
return counts
