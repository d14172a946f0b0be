-- Turns: the numbers of processes.
-- include: keys

local turns = {}

-- The turn is the first 16 digits of a holder, hexadecimal.
local TURN = '^%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x'

-- Notes the turn of a process. After a server has lost all data, it thus gives out greater numbers
-- than the processes that are still running have.
function turns.note(holder)
  local turn = tonumber(string.match(holder, TURN) or '', 16) or 0
  if turn > (tonumber(redis.call('HGET', STATE, 'turn') or 0) or 0) then
    redis.call('HSET', STATE, 'turn', turn)
  end
end
