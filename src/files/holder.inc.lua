-- Which process receives under a name.
-- include: keys

local DROPPED = 'dropped'

-- A server that forgot everything does not know who receives, and one with older data knows an
-- earlier process: then it is the one who asks. A receiver that was dropped has another holder, so
-- that this is not taken for forgetting.
local function holds(receiver, holder)
  local current = redis.call('HGET', HOLDERS, receiver)
  return not current or current ~= DROPPED and current <= holder
end

-- Whether it came before the one that receives now: a request of a process that was killed may
-- arrive after those of the next.
local function is_stale(receiver, holder)
  local current = redis.call('HGET', HOLDERS, receiver)
  return current and current ~= DROPPED and current > holder
end
