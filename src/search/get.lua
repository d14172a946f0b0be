-- search/get: documents by their ids.
-- KEYS[1] meta    hash: token
-- KEYS[2] ids     hash: id, number
-- KEYS[3] docs    hash: number, record
-- KEYS[4] texts   hash: number, text
-- ARGV[1] token   of the index
-- ARGV[2...] ids
-- returns 'stale', or {records, texts, numbers}, false for what is not there

local META, IDS, DOCS, TEXTS = unpack(KEYS)
if redis.call('HGET', META, 'token') ~= ARGV[1] then
  return 'stale'
end
local records, texts, numbers = {}, {}, {}
for i = 2, #ARGV do
  local number = redis.call('HGET', IDS, ARGV[i])
  records[i - 1] = number and redis.call('HGET', DOCS, number)
  texts[i - 1] = number and redis.call('HGET', TEXTS, number)
  numbers[i - 1] = number
end
return {records, texts, numbers}
