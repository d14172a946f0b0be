-- files/add_receiver: add a receiver to all files that still have all of their chunks.
-- KEYS[1...] channel  see keys.inc.lua; then of each file: its record, and how far its
--   receivers are
-- ARGV[1] receiver
-- ARGV[2...] token of each file
-- returns to how many files the receiver was added
-- include: shared/clock
-- include: keys
-- include: accounts

local FIRST_TOKEN = 2 -- index of the first token in the arguments
local receiver, tokens = ARGV[1], {unpack(ARGV, FIRST_TOKEN)}

local now, added = clock.ms(), 0
for i, keys in ipairs(records.keys(KEYS, CHANNEL_KEYS)) do
  local file, at = records.read(keys.record), keys.at
  local is_whole = file and file.freed == 0 and file.state ~= 'removing'
  is_whole = is_whole and redis.call('EXISTS', at) == 1
  if is_whole and redis.call('ZADD', at, 'NX', 0, receiver) == 1 then
    accounts.note_change(tokens[i])
    added = added + 1
  end
end
redis.call('ZADD', RECEIVERS, 'NX', now, receiver)
if added > 0 then
  redis.pcall('SPUBLISH', STATE, '')
end
return added
