-- files/show: files as operators see them.
-- KEYS[1...] channel  see keys.inc.lua; then of each file: its record, and how far its
--   receivers are
-- flags: no-writes
-- returns for each file {state, freed, sent, chunk, size, mtime, name, {receiver, position, ...}},
--   or nil: it is gone
-- include: records

local FIELDS = {'state', 'freed', 'sent', 'chunk', 'size', 'mtime', 'name'}
local MOST = 1000 -- most receivers of a file

local shown = {}
for _, keys in ipairs(records.keys(KEYS, CHANNEL_KEYS)) do
  local file, at = keys.record, keys.at
  local values = redis.call('HMGET', file, unpack(FIELDS))
  if values[1] then
    values[#values + 1] = redis.call('ZRANGE', at, 0, MOST - 1, 'WITHSCORES')
    shown[#shown + 1] = values
  else
    shown[#shown + 1] = false
  end
end
return shown
