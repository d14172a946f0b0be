-- search/add: add documents, or replace them.
-- KEYS[1...] shard  see keys.inc.lua; then the sorted sets of the fields, the steps of their
--   ladders, the keys of the terms
-- ARGV[1] token    of the index
-- ARGV[2] skip     bytes of a term's key before the term
-- ARGV[3] finish   0: search/post brings more terms
-- ARGV[4] ndocs
-- ARGV[5] nfields
-- ARGV[6...] rest  for each document: id, record, terms, text, and for each field score and member;
--                  then the documents of each term
-- returns 'stale', or {new ids, {number, stamp, record, terms} of each old version, {field, side,
--   step, threshold} of each step of a ladder that should be made, how many numbers were left
--   behind}; record and terms are missing where the reply would be too long; unfinished: {number,
--   stamp}
-- include: keys
-- include: documents
-- include: climbing
-- include: indexes

local FIRST_FIELD = SHARD_KEYS + 1
local FIRST_DOCUMENT = 6 -- index of the first argument of the documents
local DOCUMENT = 4 -- arguments of a document before its fields: id, record, terms, text
local LADDER_CHECK = 16 -- batches between two checks of the ladders
local token, skip, finish, ndocs, nfields = unpack(ARGV, 1, FIRST_DOCUMENT - 1)
skip, ndocs, nfields = tonumber(skip), tonumber(ndocs), tonumber(nfields)

-- The index of a document's first argument. For the document behind the last one it is the index of
-- the argument behind all documents.
local function first_of_document(index)
  return FIRST_DOCUMENT + (index - 1) * (DOCUMENT + 2 * nfields)
end

-- Returns a document: {id, record, terms, text, fields}. `fields` is the index of the first score;
-- score and member of each field follow.
local function document_at(index)
  local at = first_of_document(index)
  local id, record, own_terms, text = unpack(ARGV, at, at + DOCUMENT - 1)
  return {id = id, record = record, terms = own_terms, text = text, fields = at + DOCUMENT}
end

-- Stores all documents. They stay dead until their terms are stored.
local function store(numbers, stamp)
  local dead, records, forwards, texts = {}, {}, {}, {}
  for i, number in ipairs(numbers) do
    local doc, at = document_at(i), 2 * i - 1
    dead[at], dead[at + 1] = decimal.whole(stamp), number
    records[at], records[at + 1] = number, doc.record
    forwards[at], forwards[at + 1] = number, doc.terms
    if doc.text ~= '' then
      texts[#texts + 1], texts[#texts + 2] = number, doc.text
    end
  end
  redis.call('ZADD', DEAD, unpack(dead))
  redis.call('HSET', DOCS, unpack(records))
  redis.call('HSET', FORWARD, unpack(forwards))
  if #texts > 0 then
    redis.call('HSET', TEXTS, unpack(texts))
  end
end

-- Stores the values of a document.
local function store_fields(number, doc, steps)
  for i = 0, nfields - 1 do
    local score, member = ARGV[doc.fields + 2 * i], ARGV[doc.fields + 2 * i + 1]
    redis.call('ZADD', KEYS[FIRST_FIELD + i], score, member .. number)
    climbing.set_bits(steps[i], number, tonumber(score) or math.huge, '1')
  end
end

if redis.call('HGET', META, 'token') ~= token then
  return 'stale'
end
documents.check_types()
local first_step = FIRST_FIELD + nfields
local first_term = first_step + FIELD_STEPS * nfields
local steps, ladder = climbing.read(KEYS, first_step, nfields)
local terms = postings.read_terms(KEYS, first_term, skip)
for i = 1, ndocs do
  documents.check_number_of(document_at(i).id)
end
local stamp = clock.us()
local numbers = documents.take_numbers(ndocs)
store(numbers, stamp)
for i = 1, ndocs do
  store_fields(numbers[i], document_at(i), steps)
end
local next = tonumber(redis.call('HGET', META, 'next'))
postings.each_term(terms, ARGV, first_of_document(ndocs + 1), numbers, function(term, list)
  postings.post(term, list, next)
end)
if finish == '0' then
  return {numbers[1], decimal.whole(stamp)}
end

local ids, records = {}, {}
for i = 1, ndocs do
  local doc = document_at(i)
  ids[i], records[i] = doc.id, doc.record
end
local dead = documents.come_alive(numbers, ids, records, stamp)
redis.call('ZREM', DEAD, unpack(numbers))
indexes.change()
local worn = {}
if redis.call('HINCRBY', META, 'batches', 1) % LADDER_CHECK == 0 then
  for i = 0, nfields - 1 do
    local first_of_field = first_step + FIELD_STEPS * i
    climbing.add_worn(worn, KEYS[FIRST_FIELD + i], i, ladder, KEYS, first_of_field)
  end
end
return {ndocs - #dead, dead, worn, documents.count_left(stamp)}
