-- log/after: the messages of one severity behind the last message that a tail has seen.
-- KEYS[1] recent  stream, see log/write
-- ARGV[1] seen    id of a message
-- flags: no-writes
-- returns {} when there is no such log; else {messages ever added, messages that are kept, id of
--   the first kept message, id of the newest one, 1 when there are more, the messages}

-- Limits of one reply: messages, and bytes (about).
local MAX, BYTES, AT_ONCE = 100, 524288, 10
local RECENT = KEYS[1]
local seen = ARGV[1]

-- Returns the messages behind `seen`, and whether there may be more.
local function read_behind()
  local entries, bytes, last = {}, 0, seen
  while #entries < MAX and bytes < BYTES do
    local some = redis.call('XRANGE', RECENT, '(' .. last, '+', 'COUNT', AT_ONCE)
    for _, entry in ipairs(some) do
      local id, fields = entry[1], entry[2]
      entries[#entries + 1] = entry
      bytes = bytes + #fields[2]
      last = id
    end
    if #some < AT_ONCE then
      return entries, 0
    end
  end
  return entries, 1
end

if redis.call('EXISTS', RECENT) == 0 then
  return {}
end
local info = {}
local parts = redis.call('XINFO', 'STREAM', RECENT)
for i = 1, #parts, 2 do
  info[parts[i]] = parts[i + 1]
end
local first = info['first-entry'] and info['first-entry'][1] or info['last-generated-id']
local entries, more = read_behind()
return {info['entries-added'], info['length'], first, info['last-generated-id'], more, entries}
