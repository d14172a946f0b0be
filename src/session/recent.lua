-- session/recent: the items that a session viewed, the most recent first.
-- KEYS[1...] store  see keys.inc.lua; the last two are of this session
-- ARGV[1] id        of the session
-- ARGV[2] first     rank, from 0
-- ARGV[3] last
-- flags: no-writes
-- returns {1 when items of the page are left after this step, item, microseconds, ...}; nil when
--   the session has ended
-- include: keys
-- include: sessions
-- include: pages

local id, first, last = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

if not sessions.find(id, clock.ms()) then
  return false
end
local answer = {0}
answer[1] = pages.visit(ITEMS, first, last, function(item, time)
  answer[#answer + 1] = item
  answer[#answer + 1] = time
end)
return answer
