-- search/mend: correct what terms and fields say about some documents.
-- KEYS[1...] shard  see keys.inc.lua; then the sorted sets of the fields, the steps of their
--   ladders, the keys of the terms
-- ARGV[1] token    of the index
-- ARGV[2] skip     bytes of a term's key before the term
-- ARGV[3] wanted   1: the terms should have these documents; 0: they should not
-- ARGV[4] ndocs
-- ARGV[5] nfields  0: fields are not compared
-- ARGV[6...] rest  for each document: number, the field of :forward with the terms, record, and for
--                    each field score and member; then the documents of each term
-- returns 'stale', or {postings, values, counts} that were corrected
-- include: truth
-- include: climbing
-- include: indexes

local FIRST_FIELD = SHARD_KEYS + 1
local FIRST_DOCUMENT = 6 -- index of the first argument of the documents
local DOCUMENT = 3 -- arguments of a document before its fields: number, field of :forward, record
local token, skip, wanted, ndocs, nfields = unpack(ARGV, 1, FIRST_DOCUMENT - 1)
skip, ndocs, nfields = tonumber(skip), tonumber(ndocs), tonumber(nfields)

-- The index of a document's first argument. For the document behind the last one it is the index of
-- the argument behind all documents.
local function first_of_document(index)
  return FIRST_DOCUMENT + (index - 1) * (DOCUMENT + 2 * nfields)
end

-- Reads a document: {number, record, forward, is_dead, lives, is_same, fields}. It lives when it
-- has a record and queries find it; `is_same`: it has the record that the caller has seen;
-- `fields`: the index of the first score.
local function read_document(index)
  local at = first_of_document(index)
  local number, forward, record = unpack(ARGV, at, at + DOCUMENT - 1)
  local stored = redis.call('HGET', DOCS, number)
  local is_number = string.find(number, '^%d+$') ~= nil
  local is_dead = redis.call('ZSCORE', DEAD, number) and true or false
  local lives = stored and not is_dead and is_number and redis.call('GETBIT', LIVE, number) == 1
  return {number = number, record = stored, forward = forward, is_dead = is_dead, lives = lives,
          is_same = lives and stored == record, fields = at + DOCUMENT}
end

-- Whether a document belongs to a term; nil: it is on its way in or out, so it may or may not.
local function belongs(doc, term)
  local terms = redis.call('HGET', FORWARD, doc.forward)
  if doc.is_dead and terms then
    return nil
  end
  return doc.lives and terms and truth.has(doc.record, terms, term.name) or false
end

-- Corrects the numbers of a term. Returns how many were wrong.
local function mend_numbers(term, docs, owners)
  local numbers = {}
  for i = 1, #owners do
    local doc = docs[string.byte(owners, i)] -- nil: only the count of the term is wrong
    local is_posted = doc and truth.is_posted(term, doc.number)
    if doc and is_posted ~= (wanted == '1') and belongs(doc, term) == (wanted == '1') then
      numbers[#numbers + 1] = doc.number
    end
  end
  if #numbers > 0 and term.is_bits then
    postings.set_bits(term.key, numbers, wanted)
  elseif #numbers > 0 then
    redis.call(wanted == '1' and 'SADD' or 'SREM', term.key, unpack(numbers))
  end
  return #numbers
end

-- Corrects the members of a document in the fields. Returns how many were wrong.
local function mend_values(doc, steps)
  local wrong = 0
  for i = 0, doc.is_same and nfields - 1 or -1 do
    local score, member = ARGV[doc.fields + 2 * i], ARGV[doc.fields + 2 * i + 1] .. doc.number
    local right = tonumber(score) or math.huge
    local stored = redis.call('ZSCORE', KEYS[FIRST_FIELD + i], member)
    local is = stored and (tonumber(stored) or math.huge)
    if is ~= right then
      if is then
        climbing.set_bits(steps[i], doc.number, is, '0')
      end
      redis.call('ZADD', KEYS[FIRST_FIELD + i], score, member)
      climbing.set_bits(steps[i], doc.number, right, '1')
      wrong = wrong + 1
    end
  end
  return wrong
end

local stored, next_number = unpack(redis.call('HMGET', META, 'token', 'next'))
if stored ~= token then
  return 'stale'
end
documents.check_types()
documents.check_next(0)
local first_step = FIRST_FIELD + nfields
local first_term = first_step + FIELD_STEPS * nfields
local first_list = first_of_document(ndocs + 1)
local steps = climbing.read(KEYS, first_step, nfields)
local docs, numbers, values, counts = {}, 0, 0, 0
for i = 1, ndocs do
  docs[i] = read_document(i)
  values = values + mend_values(docs[i], steps)
end
for i = first_term, #KEYS do
  local term = truth.read_term(KEYS[i], skip)
  local is_right = truth.fits(term)
  local wrong = mend_numbers(term, docs, ARGV[first_list + i - first_term])
  if wrong > 0 or not is_right then
    truth.settle(term, tonumber(next_number or 0))
  end
  numbers, counts = numbers + wrong, counts + (is_right and 0 or 1)
end
if numbers + values + counts > 0 then
  indexes.change()
end
return {numbers, values, counts}
