-- search/post: more terms of one large document, or its end.
-- KEYS[1] meta     hash: token, version, next, docs, words
-- KEYS[2] ids      hash: id, number
-- KEYS[3] docs     hash: number, record
-- KEYS[4] forward  hash: number, its terms
-- KEYS[5] texts    hash: number, text
-- KEYS[6] live     bitmap of the numbers that can be found
-- KEYS[7] dead     sorted set: number, stamp
-- KEYS[8] free     set of numbers to be used again
-- KEYS[9] terms    sorted set by bytes
-- KEYS[10] common  hash: term that has a bitmap, count
-- KEYS[11] shown   hash: term of a value, the value as it was written
-- KEYS[12...] more  the keys of the terms
-- ARGV[1] token    of the index
-- ARGV[2] skip     bytes of a term's key before the term
-- ARGV[3] finish   1: these are the last terms
-- ARGV[4] number   of the document
-- ARGV[5] stamp    with which it began
-- ARGV[6] id
-- ARGV[7...] rest  the documents of each term
-- returns 'stale', 'gone' when the number was taken away, or as search/add

local META, IDS, DOCS, FORWARD, TEXTS, LIVE, DEAD, FREE, TERMS, COMMON, SHOWN = unpack(KEYS)
-- include: documents
local FIRST_TERM, FIRST_LIST = 12, 7

local token, skip, finish = ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1'
local number, stamp, id = ARGV[4], ARGV[5], ARGV[6]
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
if not finish then
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
