-- channel/place: find the place where a follower begins, some messages before the end.
-- KEYS[1...] channel  see keys.inc.lua
-- ARGV[1] before  id; only messages before this one are counted; '+': all
-- ARGV[2] count   messages to go back
-- flags: no-writes
-- returns {life, ms and number of the newest message ever published, id of the last message that
--   was counted or '' for none, how many were counted, 1 when older messages are left}
-- include: keys

local BYTES, AT_ONCE = 1048576, 10 -- how much one call reads, about
local before, count = ARGV[1], tonumber(ARGV[2])

local ms, number, life = keys.newest()
local first, counted, bytes, more = '', 0, 0, 1
while counted < count and bytes < BYTES and more == 1 do
  local wanted = math.min(AT_ONCE, count - counted)
  local some = redis.call('XREVRANGE', HISTORY, before, '-', 'COUNT', wanted)
  for _, entry in ipairs(some) do
    first, before = entry[1], '(' .. entry[1]
    counted, bytes = counted + 1, bytes + #(entry[2][4] or '')
  end
  if #some < wanted then
    more = 0
  end
end
return {life or '', ms, number, first, counted, more}
