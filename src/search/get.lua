-- search/get: documents by their ids.
-- KEYS[1...] shard  see keys.inc.lua
-- ARGV[1] token   of the index
-- ARGV[2...] ids
-- flags: no-writes
-- returns 'stale', or {records, first pieces of texts, numbers} of the first ids, as many as fit;
--   false: there is none
-- include: keys

local REPLY_BYTES = 256 * 1024 -- a reply ends after this many bytes, or one text more
local FIRST_ID = 2 -- index of the first id in the arguments
local token, ids = ARGV[1], {unpack(ARGV, FIRST_ID)}

if redis.call('HGET', META, 'token') ~= token then
  return 'stale'
end
local records, texts, numbers, bytes = {}, {}, {}, 0
for i, id in ipairs(ids) do
  if bytes < REPLY_BYTES then
    local number = redis.call('HGET', IDS, id)
    local text = number and redis.call('HGET', TEXTS, number)
    records[i] = number and redis.call('HGET', DOCS, number)
    texts[i] = text
    numbers[i] = number
    bytes = bytes + (text and #text or 0) + (records[i] and #records[i] or 0)
  end
end
return {records, texts, numbers}
