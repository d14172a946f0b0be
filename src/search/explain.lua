-- search/explain: the totals of a shard, and a document as the index has it.
-- KEYS[1...] shard  see keys.inc.lua
-- ARGV[1] token  of the index
-- ARGV[2] id     of the document
-- flags: no-writes
-- returns 'stale', or {docs, words, number, record, terms}; the last three are false when there is
--   no such document
-- include: keys
-- include: indexes

local token, id = unpack(ARGV)

local index = indexes.read()
if index.token ~= token then
  return 'stale'
end
local number = redis.call('HGET', IDS, id)
return {index.docs, index.words, number, number and redis.call('HGET', DOCS, number),
        number and redis.call('HGET', FORWARD, number)}
