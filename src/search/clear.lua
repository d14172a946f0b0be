-- search/clear: take numbers that are dead out of everything.
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
-- KEYS[12] ladder  hash: step, threshold
-- KEYS[13...] more  the sorted sets of the fields, the steps of their ladders, the keys of the terms
-- ARGV[1] token    of the index
-- ARGV[2] skip     bytes of a term's key before the term
-- ARGV[3] finish   1: these are the last terms; the numbers are free then
-- ARGV[4] ndocs
-- ARGV[5] nfields
-- ARGV[6...] rest  of each document: number, stamp, and its member of each field; then the
--                  documents of each term
-- returns 'stale', or how many numbers were still dead with that stamp

local META, IDS, DOCS, FORWARD, TEXTS, LIVE, DEAD, FREE, TERMS, COMMON, SHOWN,
  LADDER = unpack(KEYS)
-- include: documents
-- include: climb
local FIRST_FIELD = 13 -- of the keys
local FIRST_DOCUMENT = 6 -- of the arguments
local DOCUMENT = 2 -- arguments of a document before those of its fields: number, stamp

local token, skip, finish = ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1'
local ndocs, nfields = tonumber(ARGV[4]), tonumber(ARGV[5])
local stored, next_number = unpack(redis.call('HMGET', META, 'token', 'next'))
if stored ~= token then
  return 'stale'
end
check_types()
local first_step = FIRST_FIELD + nfields
local first_term = first_step + 2 * LADDER_STEPS * nfields
local steps = read_ladder(first_step, nfields)
local terms = read_terms(first_term, skip)

-- Where the arguments of a document begin; those of the one behind the last are where all end.
local function place_of_document(index)
  return FIRST_DOCUMENT + (index - 1) * (DOCUMENT + nfields)
end

local numbers, still = {}, 0
for i = 1, ndocs do
  local number, stamp = unpack(ARGV, place_of_document(i), place_of_document(i) + 1)
  local died = redis.call('ZSCORE', DEAD, number)
  numbers[i] = died and text_of(died) == stamp and number
  still = still + (numbers[i] and 1 or 0)
end
redis.call('SREM', FREE, '') -- a first write that is allowed when the server is out of memory
each_term(terms, place_of_document(ndocs + 1), numbers, function(term, list)
  unpost(term, list, tonumber(next_number))
end)

local function free_number(number, members_at)
  for i = 0, nfields - 1 do
    local member = ARGV[members_at + i] .. number
    local score = redis.call('ZSCORE', KEYS[FIRST_FIELD + i], member)
    if score then
      climb(steps[i], number, tonumber(score) or math.huge, '0')
    end
    redis.call('ZREM', KEYS[FIRST_FIELD + i], member)
  end
  redis.call('HDEL', DOCS, number)
  redis.call('HDEL', FORWARD, number)
  redis.call('HDEL', TEXTS, number)
  redis.call('ZREM', DEAD, number)
  redis.call('SADD', FREE, number)
end

for i = 1, ndocs do
  if finish and numbers[i] then
    free_number(numbers[i], place_of_document(i) + DOCUMENT)
  end
end
return still
