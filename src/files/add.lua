-- files/add: one more receiver for files of which nothing has gone yet.
-- KEYS[1...] channel  see keys.inc.lua; then of each file: its record, and how far its
--   receivers are
-- ARGV[1] receiver
-- ARGV[2...] token of each file
-- returns how many files it gets that it did not get before
-- include: shared/clock
local now = clock_ms()
-- include: keys
-- include: account

local FIRST_TOKEN = 2 -- of the arguments

local receiver, tokens = ARGV[1], {unpack(ARGV, FIRST_TOKEN)}
local added = 0
for i, keys in ipairs(file_keys(CHANNEL_KEYS)) do
  local file, at = read_file(keys.record), keys.at
  local is_whole = file and file.freed == 0 and file.state ~= 'removing'
  is_whole = is_whole and redis.call('EXISTS', at) == 1
  if is_whole and redis.call('ZADD', at, 'NX', 0, receiver) == 1 then
    note_change(tokens[i])
    added = added + 1
  end
end
redis.call('ZADD', RECEIVERS, 'NX', now, receiver)
if added > 0 then
  redis.pcall('SPUBLISH', STATE, '')
end
return added
