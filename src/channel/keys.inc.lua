-- The keys of a channel, in the order in which every script gets them, and its state.

local keys = {}

local STATE = KEYS[1]   -- hash: number and ms of the newest message, life; also the pub/sub channel
local HISTORY = KEYS[2] -- stream: <ms>-<number>: request, message

-- The milliseconds and the number in an id.
function keys.read_id(id)
  local ms, number = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(number)
end

-- The id of the newest message in the history, without the state; '0-0': there is none.
function keys.newest_kept()
  if redis.call('XLEN', HISTORY) == 0 then
    return '0-0'
  end
  return redis.call('XREVRANGE', HISTORY, '+', '-', 'COUNT', 1)[1][1]
end

-- Returns ms and number of the newest message ever published, and the life of the channel: a text
-- that is another one after the channel was dropped, expired or lost; nil: the state is gone.
function keys.newest()
  local state = redis.call('HMGET', STATE, 'ms', 'number', 'life')
  local ms, number, life = tonumber(state[1] or nil), tonumber(state[2] or nil), state[3] or nil
  if ms and number and life then
    return ms, number, life
  elseif state[1] or state[2] or life then
    error({err = 'DAMAGED the channel was not written by tackle'})
  end
  ms, number = keys.read_id(keys.newest_kept())
  return ms, number, nil
end
