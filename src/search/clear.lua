-- search/clear: remove dead numbers from terms, fields and hashes.
-- KEYS[1...] shard  see keys.inc.lua; then the sorted sets of the fields, the steps of their
--   ladders, the keys of the terms
-- ARGV[1] token    of the index
-- ARGV[2] skip     bytes of a term's key before the term
-- ARGV[3] finish   1: these are the last terms; the numbers are free then
-- ARGV[4] ndocs
-- ARGV[5] nfields
-- ARGV[6...] rest  for each document: number, stamp, and its member in each field; then the
--                  documents of each term
-- flags: allow-oom
-- returns 'stale', or how many numbers were still dead with that stamp
-- include: keys
-- include: documents
-- include: climbing
-- include: pieces

local FIRST_FIELD = SHARD_KEYS + 1
local FIRST_DOCUMENT = 6 -- index of the first argument of the documents
local DOCUMENT = 2 -- arguments of a document before its fields: number, stamp
local token, skip, finish, ndocs, nfields = unpack(ARGV, 1, FIRST_DOCUMENT - 1)
skip, ndocs, nfields = tonumber(skip), tonumber(ndocs), tonumber(nfields)

-- The index of a document's first argument. For the document behind the last one it is the index of
-- the argument behind all documents.
local function first_of_document(index)
  return FIRST_DOCUMENT + (index - 1) * (DOCUMENT + nfields)
end

-- Removes a document from its fields and from the index, and frees its number.
local function free_number(number, members_at, steps)
  for i = 0, nfields - 1 do
    local member = ARGV[members_at + i] .. number
    local score = redis.call('ZSCORE', KEYS[FIRST_FIELD + i], member)
    if score then
      climbing.set_bits(steps[i], number, tonumber(score) or math.huge, '0')
    end
    redis.call('ZREM', KEYS[FIRST_FIELD + i], member)
  end
  redis.call('HDEL', DOCS, number)
  pieces.erase(FORWARD, number)
  pieces.erase(TEXTS, number)
  redis.call('ZREM', DEAD, number)
  redis.call('SADD', FREE, number)
end

local stored, next_number = unpack(redis.call('HMGET', META, 'token', 'next'))
if stored ~= token then
  return 'stale'
end
documents.check_types()
local first_step = FIRST_FIELD + nfields
local first_term = first_step + FIELD_STEPS * nfields
local steps = climbing.read(KEYS, first_step, nfields)
local terms = postings.read_terms(KEYS, first_term, skip)
local numbers, still = {}, 0
for i = 1, ndocs do
  local number, stamp = unpack(ARGV, first_of_document(i), first_of_document(i) + 1)
  local died = redis.call('ZSCORE', DEAD, number)
  numbers[i] = died and decimal.whole(died) == stamp and number
  still = still + (numbers[i] and 1 or 0)
end
postings.each_term(terms, ARGV, first_of_document(ndocs + 1), numbers, function(term, list)
  postings.unpost(term, list, tonumber(next_number))
end)
for i = 1, ndocs do
  if finish == '1' and numbers[i] then
    free_number(numbers[i], first_of_document(i) + DOCUMENT, steps)
  end
end
return still
