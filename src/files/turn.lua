-- files/turn: a number for a process that begins to send or receive, greater than all before it.
-- KEYS[1] state  hash; see files.c for all of them
-- returns the number
local STATE = KEYS[1]
-- include: file

local KEPT_MS = 30 * 86400000 -- 30 days

permit_writes(STATE)
local turn = redis.call('HINCRBY', STATE, 'turn', 1)
if redis.call('PTTL', STATE) < 0 then
  redis.call('PEXPIRE', STATE, KEPT_MS)
end
return turn
