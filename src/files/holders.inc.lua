-- Holders: the processes that receive under a name.
-- include: keys

local holders = {}

local DROPPED = 'dropped'

-- Whether this process is the one that receives. A server that lost its data knows no process, and
-- a server restored with older data knows an earlier process: then this process is accepted. A
-- dropped receiver has DROPPED as its holder, so it is not mistaken for lost data.
function holders.is_current(receiver, holder)
  local current = redis.call('HGET', HOLDERS, receiver)
  return not current or current ~= DROPPED and current <= holder
end

-- Whether this process is older than the process that receives now: a request of a killed process
-- may arrive after requests of its successor.
function holders.is_stale(receiver, holder)
  local current = redis.call('HGET', HOLDERS, receiver)
  return current and current ~= DROPPED and current > holder
end
