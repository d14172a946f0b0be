-- Numbers of processes.
-- include: keys

-- The turn is the first 16 digits of a holder, hexadecimal.
local TURN = '^' .. string.rep('%x', 16)

-- A server that forgot everything gives out greater numbers than those of the processes that are
-- still there.
local function note_turn(holder)
  local turn = tonumber(string.match(holder, TURN) or '', 16) or 0
  if turn > (tonumber(redis.call('HGET', STATE, 'turn') or 0) or 0) then
    redis.call('HSET', STATE, 'turn', turn)
  end
end
