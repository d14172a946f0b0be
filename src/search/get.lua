-- search/get: documents by their ids.
-- KEYS[1] meta    hash: token
-- KEYS[2] ids     hash: id, number
-- KEYS[3] docs    hash: number, record
-- KEYS[4] texts   hash: number, text
-- ARGV[1] token   of the index
-- ARGV[2...] ids
-- returns 'stale', or {records, texts, numbers} of the first ids, as many as fit, false for what is
-- not there

local META, IDS, DOCS, TEXTS = unpack(KEYS)
local token = ARGV[1]
if redis.call('HGET', META, 'token') ~= token then
  return 'stale'
end
local REPLY_BYTES = 512 * 1024 -- and one text more
local ids = {unpack(ARGV, 2)}

local records, texts, numbers, bytes = {}, {}, {}, 0
for i, id in ipairs(ids) do
  if bytes < REPLY_BYTES then
    local number = redis.call('HGET', IDS, id)
    local text = number and redis.call('HGET', TEXTS, number)
    records[i] = number and redis.call('HGET', DOCS, number)
    texts[i] = text
    numbers[i] = number
    bytes = bytes + (text and #text or 0)
  end
end
return {records, texts, numbers}
