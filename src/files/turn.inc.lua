-- Numbers of processes. The key STATE is the script's.

local TURN_DIGITS = 16 -- of a holder, hexadecimal

-- A server that forgot everything gives out greater numbers than those of the processes that are
-- still there.
local function note_turn(holder)
  local turn = tonumber(holder:sub(1, TURN_DIGITS), 16) or 0
  if turn > (tonumber(redis.call('HGET', STATE, 'turn') or 0) or 0) then
    redis.call('HSET', STATE, 'turn', turn)
  end
end
