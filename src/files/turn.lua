-- files/turn: a number for a process that begins to send or receive, greater than all before it.
-- KEYS[1...] channel  see keys.inc.lua
-- flags: allow-oom
-- returns the number: the time in microseconds, or more, so that it grows even when the last one
--   was lost
-- include: shared/clock
-- include: keys
-- include: records

local last = records.whole(redis.call('HGET', STATE, 'turn') or 0)
local turn = math.max(last + 1, clock.us())
redis.call('HSET', STATE, 'turn', decimal.whole(turn))
if redis.call('PTTL', STATE) < 0 then
  redis.call('PEXPIRE', STATE, KEPT_MS)
end
return turn
