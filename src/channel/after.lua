-- channel/after: the messages behind the last message that a follower has seen.
-- KEYS[1...] channel  see keys.inc.lua
-- ARGV[1] seen    id of a message
-- ARGV[2] max     most messages
-- flags: no-writes
-- returns {life, ms and number of the newest message ever published, the messages}; {'', 0, 0, {}}
--   when there is no channel
-- include: keys

local BYTES, AT_ONCE = 1048576, 10 -- size of a reply, about; messages that are read together
local seen, max = ARGV[1], tonumber(ARGV[2])

local ms, number, life = keys.newest()
local entries, bytes, last = {}, 0, seen
while #entries < max and bytes < BYTES do
  local wanted = math.min(AT_ONCE, max - #entries)
  local some = redis.call('XRANGE', HISTORY, '(' .. last, '+', 'COUNT', wanted)
  for _, entry in ipairs(some) do
    entries[#entries + 1] = entry
    bytes = bytes + #(entry[2][4] or '')
    last = entry[1]
  end
  if #some < wanted then
    break
  end
end
return {life or '', ms, number, entries}
