-- search/post: more terms of one large document, or its end.
-- KEYS[1...] shard  see keys.inc.lua; then the keys of the terms
-- ARGV[1] token    of the index
-- ARGV[2] skip     bytes of a term's key before the term
-- ARGV[3] finish   1: these are the last terms
-- ARGV[4] number   of the document
-- ARGV[5] stamp    with which it began
-- ARGV[6] id
-- ARGV[7...] rest  the documents of each term
-- returns 'stale', 'gone' when another writer has taken the number away, or as search/add
-- include: keys
-- include: documents
-- include: indexes

local FIRST_TERM = SHARD_KEYS + 1
local FIRST_LIST = 7 -- index of the first list in the arguments
local token, skip, finish, number, stamp, id = unpack(ARGV, 1, FIRST_LIST - 1)
skip = tonumber(skip)

local stored, next_number = unpack(redis.call('HMGET', META, 'token', 'next'))
if stored ~= token then
  return 'stale'
end
documents.check_types()
local began = redis.call('ZSCORE', DEAD, number)
if not began or decimal.whole(began) ~= stamp then
  return 'gone'
end
documents.check_number_of(id)
local terms = postings.read_terms(KEYS, FIRST_TERM, skip)
postings.each_term(terms, ARGV, FIRST_LIST, {number}, function(term, list)
  postings.post(term, list, tonumber(next_number))
end)
if finish == '0' then
  return {0, {}}
end

local record = redis.call('HGET', DOCS, number)
if not record then
  error({err = 'DAMAGED the record of a document is missing'})
end
local now = clock.us()
local dead = documents.come_alive({number}, {id}, {record}, now)
redis.call('ZREM', DEAD, number)
indexes.change()
return {1 - #dead, dead, {}, documents.count_left(now)}
