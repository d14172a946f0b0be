-- files/look: what a receiver needs to know about files.
-- KEYS[1...] channel  see keys.inc.lua; then of each file: its record, and how far its
--   receivers are
-- ARGV[1] receiver
-- returns for each file {position, state, freed, sent, chunk, size, checksum, mtime, mode, name,
--   bytes or nil}, or nil: it is not for this receiver, or gone
-- include: file
local FIELDS = {'state', 'freed', 'sent', 'chunk', 'size', 'prefix', 'mtime', 'mode', 'name',
                'data'}
local REMOVING = 'removing'

local receiver, found = ARGV[1], {}
for _, keys in ipairs(file_keys(CHANNEL_KEYS)) do
  local file, at = keys.record, keys.at
  local position = redis.call('ZSCORE', at, receiver)
  local values = position and redis.call('HMGET', file, unpack(FIELDS))
  if values and values[1] and values[1] ~= REMOVING then
    found[#found + 1] = {position, unpack(values)}
  else
    found[#found + 1] = false
  end
end
return found
