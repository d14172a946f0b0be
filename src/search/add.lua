-- search/add: add documents, or replace them.
-- KEYS[1...] shard  see keys.inc.lua; then the sorted sets of the fields, the steps of their
--   ladders, the keys of the terms
-- ARGV[1] token    of the index
-- ARGV[2] skip     bytes of a term's key before the term
-- ARGV[3] finish   0: more terms come, by search/post
-- ARGV[4] ndocs
-- ARGV[5] nfields
-- ARGV[6] nshown
-- ARGV[7...] rest  of each document: id, record, terms, text, and for each field score and member;
--                  then term, value for what is shown; then the documents of each term
-- returns 'stale', or {new ids, {number, stamp, record, terms} of each old version, {field, side,
-- step} of each step of a ladder that should be made, how many numbers were left behind}; without
-- record and terms where the reply would be too long; unfinished: {number, stamp}

-- include: keys
-- include: documents
-- include: climb
local FIRST_FIELD = SHARD_KEYS + 1
local FIRST_DOCUMENT = 7 -- of the arguments
local DOCUMENT = 4 -- arguments of a document before those of its fields
local LADDER_CHECK = 16 -- versions between two looks at the ladders

local token, skip, finish, ndocs, nfields, nshown = unpack(ARGV, 1, FIRST_DOCUMENT - 1)
skip, ndocs, nfields, nshown = tonumber(skip), tonumber(ndocs), tonumber(nfields), tonumber(nshown)
if redis.call('HGET', META, 'token') ~= token then
  return 'stale'
end
check_types()
local first_step = FIRST_FIELD + nfields
local first_term = first_step + 2 * LADDER_STEPS * nfields
local steps, thresholds = read_ladder(first_step, nfields)
local terms = read_terms(first_term, skip)

-- Where the arguments of a document begin; those of the one behind the last are where all end.
local function place_of_document(index)
  return FIRST_DOCUMENT + (index - 1) * (DOCUMENT + 2 * nfields)
end

-- {id, record, terms, text, fields}, fields being where score and member of each field begin.
local function document_at(index)
  local at = place_of_document(index)
  local id, record, own_terms, text = unpack(ARGV, at, at + DOCUMENT - 1)
  return {id = id, record = record, terms = own_terms, text = text, fields = at + DOCUMENT}
end

-- Everything of all documents but their terms: while they are dead.
local function store(numbers, stamp)
  local dead, records, forwards, texts = {}, {}, {}, {}
  for i, number in ipairs(numbers) do
    local doc, at = document_at(i), 2 * i - 1
    dead[at], dead[at + 1] = text_of(stamp), number
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

local function store_fields(number, doc)
  for i = 0, nfields - 1 do
    local score, member = ARGV[doc.fields + 2 * i], ARGV[doc.fields + 2 * i + 1]
    redis.call('ZADD', KEYS[FIRST_FIELD + i], score, member .. number)
    climb(steps[i], number, tonumber(score) or math.huge, '1')
  end
end

for i = 1, ndocs do
  check_number_of(document_at(i).id)
end
local stamp = clock_us()
local numbers = take_numbers(ndocs)
store(numbers, stamp)
for i = 1, ndocs do
  store_fields(numbers[i], document_at(i))
end
local first_shown = place_of_document(ndocs + 1)
local first_list = first_shown + 2 * nshown
for i = first_shown, first_list - 1, 2 do
  local term, value = ARGV[i], ARGV[i + 1]
  redis.call('HSET', SHOWN, term, value)
end
local next = tonumber(redis.call('HGET', META, 'next'))
each_term(terms, first_list, numbers, function(term, list)
  post(term, list, next)
end)
if finish == '0' then
  return {numbers[1], text_of(stamp)}
end

local ids, records = {}, {}
for i = 1, ndocs do
  local doc = document_at(i)
  ids[i], records[i] = doc.id, doc.record
end
local dead = come_alive(numbers, ids, records, stamp)
redis.call('ZREM', DEAD, unpack(numbers))
local version = redis.call('HINCRBY', META, 'version', 1)
local worn = {}
if version % LADDER_CHECK == 0 then
  for i = 0, nfields - 1 do
    add_worn(worn, KEYS[FIRST_FIELD + i], i, thresholds)
  end
end
return {ndocs - #dead, dead, worn, count_left(stamp)}
