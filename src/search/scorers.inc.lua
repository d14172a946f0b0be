-- Scorers: the words of a query that count for its relevance, as search/query gets them. A word is
-- a term, or a prefix with all of its terms.
-- include: counts
-- include: banding
-- include: plans

local scorers = {}

local WORD_ARGUMENTS = 4            -- before the indexes of its terms
local CLASSES = TKL__SEARCH_SEVERAL -- classes of a term above the first
local SMALL_RESULT = 150            -- results of at most this many documents are compared as a whole
local HITS_OF_TERM = 5              -- the same, for each term of a prefix

-- Reads the words: {weight, required, index, terms, times}. Their number is args[at], and they
-- follow it. `times`: the keys of a prefix's bitmaps, which begin at keys[first_times].
function scorers.read(args, at, keys, first_times)
  local words, count = {}, tonumber(args[at])
  at = at + 1
  for i = 1, count do
    local weight, required, is_prefix, nterms = unpack(args, at, at + WORD_ARGUMENTS - 1)
    at = at + WORD_ARGUMENTS
    words[i] = {weight = tonumber(weight), required = required == '1', index = i,
                terms = {unpack(args, at, at + nterms - 1)}}
    at = at + nterms
    if is_prefix == '1' then
      words[i].times = {unpack(keys, first_times, first_times + TIMES - 1)}
      first_times = first_times + TIMES
    end
  end
  return words
end

-- The documents that a result must have for a search for the best: of fewer documents all are compared
-- sooner than bitmaps of prefixes are made.
function scorers.least_result(words)
  local terms = 0
  for _, word in ipairs(words) do
    terms = terms + (word.times and #word.terms or 0)
  end
  return math.max(SMALL_RESULT, terms * HITS_OF_TERM)
end

-- The indexes of the words whose bitmaps have to be made before the best of a result are searched;
-- nil: none. `made`: bitmaps that exist are valid.
function scorers.missing_times(words, made)
  local missing = {}
  for _, word in ipairs(words) do
    if word.times and not (made and redis.call('EXISTS', word.times[1]) == 1) then
      missing[#missing + 1] = word.index
    end
  end
  return #missing > 0 and missing or nil
end

-- How many terms of a plan are not terms of its query: they come last, and have the classes of
-- words and the bands of lengths.
function scorers.extra_terms(words)
  local extra = LENGTH_BANDS
  for _, word in ipairs(words) do
    extra = extra + (word.times and 0 or CLASSES)
  end
  return extra
end

-- The operands of the classes of a prefix, made by search/times. The first has all its documents.
function scorers.times_operands(word, next)
  local operands = {}
  for i, key in ipairs(word.times) do
    plans.check_length(key, next)
    operands[i] = {size = redis.call('BITCOUNT', key), key = key, bits = true}
  end
  return operands
end

-- The weight of a word on this shard. A prefix is as rare as the most frequent of its terms.
function scorers.weight_of(word, plan)
  local docs, has = math.max(1, plan.index.docs), 0
  for _, index in ipairs(word.terms) do
    has = math.max(has, plan.terms[tonumber(index)].size)
  end
  return math.log(1 + (math.max(0, docs - has) + 0.5) / (has + 0.5))
end

-- Adds to each word its operand and the classes of documents that have it several times, as
-- bests.candidates() takes them. Returns the operands of the bands of lengths.
function scorers.add_operands(words, plan)
  local class = #plan.terms - scorers.extra_terms(words) + 1
  for _, word in ipairs(words) do
    local operands
    if word.times then
      operands, word.times_max = scorers.times_operands(word, plan.next), TIMES_LEAST[TIMES]
    else
      local own = plan.terms[tonumber(word.terms[1])]
      operands = {own, unpack(plan.terms, class, class + CLASSES - 1)}
      class, word.times_max = class + CLASSES, math.huge
    end
    word.operand, word.several = operands[1], {}
    for i = 2, #operands do
      local least = word.times and TIMES_LEAST[i] or 2 ^ (i - 1)
      word.several[i - 1] = {low = least, operand = operands[i], is_coarse = COARSE[least]}
    end
    word.weight = word.weight or scorers.weight_of(word, plan)
  end
  return {unpack(plan.terms, class)}
end
