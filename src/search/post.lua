-- search/post: more terms of one large document, or its end.
-- KEYS[1...] shard  see keys.inc.lua; then the keys of the terms
-- ARGV[1] token    of the index
-- ARGV[2] skip     bytes of a term's key before the term
-- ARGV[3] finish   1: these are the last terms
-- ARGV[4] number   of the document
-- ARGV[5] stamp    with which it began
-- ARGV[6] id
-- ARGV[7...] rest  the documents of each term
-- returns 'stale', 'gone' when the number was taken away, or as search/add

-- include: keys
-- include: documents
local FIRST_TERM = SHARD_KEYS + 1
local FIRST_LIST = 7 -- of the arguments

local token, skip, finish, number, stamp, id = unpack(ARGV, 1, FIRST_LIST - 1)
skip = tonumber(skip)
local stored, next_number = unpack(redis.call('HMGET', META, 'token', 'next'))
if stored ~= token then
  return 'stale'
end
check_types()
local began = redis.call('ZSCORE', DEAD, number)
if not began or text_of(began) ~= stamp then
  return 'gone'
end
check_number_of(id)
each_term(read_terms(FIRST_TERM, skip), FIRST_LIST, {number}, function(term, list)
  post(term, list, tonumber(next_number))
end)
if finish == '0' then
  return {0, {}}
end

local record = redis.call('HGET', DOCS, number)
if not record then
  error({err = 'DAMAGED the record of a document is missing'})
end
local now = clock_us()
local dead = come_alive({number}, {id}, {record}, now)
redis.call('ZREM', DEAD, number)
redis.call('HINCRBY', META, 'version', 1)
return {1 - #dead, dead, {}, count_left(now)}
