-- files/look: what a receiver needs to know about files.
-- KEYS[1...] channel  see keys.inc.lua; then of each file: its record, and how far its
--   receivers are
-- ARGV[1] receiver
-- ARGV[2...] token of each file
-- flags: no-writes
-- returns for each file {position, state, freed, sent, chunk, size, checksum, mtime, mode, name,
--   call, bytes or nil}; nil: it is not for this receiver, or gone; 1: the server has lost it, and
--   it was or may have been for this receiver
-- include: shared/clock
-- include: keys
-- include: records
-- include: lost

now = clock.ms()
local FIELDS = {'state', 'freed', 'sent', 'chunk', 'size', 'prefix', 'mtime', 'mode', 'name',
                'call', 'data'}
local REMOVING = 'removing'
local FIRST_TOKEN = 2 -- index of the first token in the arguments
local LOST = 1
local receiver, tokens = ARGV[1], {unpack(ARGV, FIRST_TOKEN)}

-- The answer for one file.
local function look_at(token, key, at)
  local position = redis.call('ZSCORE', at, receiver)
  local values = position and redis.call('HMGET', key, unpack(FIELDS)) or {}
  local state = values[1] or redis.call('HGET', key, 'state')
  if position and state and state ~= REMOVING then
    return {position, unpack(values)}
  end
  local concerned = position or redis.call('EXISTS', at) == 0
  return concerned and lost.is_listed(token) and lost.is_incomplete(state, at) and LOST
end

local found = {}
for i, keys in ipairs(records.keys(KEYS, CHANNEL_KEYS)) do
  found[i] = look_at(tokens[i], keys.record, keys.at)
end
return found
