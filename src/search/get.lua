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
if redis.call('HGET', META, 'token') ~= ARGV[1] then
  return 'stale'
end
local REPLY_BYTES = 512 * 1024 -- and one text more

local records, texts, numbers, bytes = {}, {}, {}, 0
for i = 2, #ARGV do
  if bytes < REPLY_BYTES then
    local number = redis.call('HGET', IDS, ARGV[i])
    local text = number and redis.call('HGET', TEXTS, number)
    records[i - 1] = number and redis.call('HGET', DOCS, number)
    texts[i - 1] = text
    numbers[i - 1] = number
    bytes = bytes + (text and #text or 0)
  end
end
return {records, texts, numbers}
