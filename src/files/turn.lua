-- files/turn: a number for a process that begins to send or receive, greater than all before it.
-- KEYS[1...] channel  see keys.inc.lua
-- returns the number: the time in microseconds, or more, so that it grows even when the last one
--   was lost
-- include: shared/clock
-- include: keys
-- include: file

local KEPT_MS = 30 * 86400000 -- 30 days

permit_writes(STATE)
local last = whole(redis.call('HGET', STATE, 'turn') or 0)
local turn = math.max(last + 1, clock_us())
redis.call('HSET', STATE, 'turn', string.format('%.0f', turn))
if redis.call('PTTL', STATE) < 0 then
  redis.call('PEXPIRE', STATE, KEPT_MS)
end
return turn
