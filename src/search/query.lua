-- search/query: documents that match a query, in an order.
-- KEYS[1...] shard  see keys.inc.lua; then the sorted set by which the result is ordered (any key
--   without); the bitmap of the result, for further steps; for each ladder the sorted set of its
--   field and its steps; the bitmaps of each prefix, of the documents that have its words so many times;
--   for each range its sorted set and the bitmap that was made of it; the bitmap
--   of each union; keys for results in between; the keys of the terms; for the order 'best' those of
--   each word's classes, and those of the bands of lengths
-- ARGV[1] token    of the index
-- ARGV[2] skip     bytes of a term's key before the term
-- ARGV[3] steps    the plan
-- ARGV[4] order    'count', 'up' or 'down' by the field, 'best' by relevance, 'heavy' by a weighted
--                  sum of fields, or 'scan' for candidates by number
-- ARGV[5] is_text  1: the field is a text
-- ARGV[6] first    hits to skip from the place on; for a scan the byte to begin with
-- ARGV[7] most     hits from there on, or candidates
-- ARGV[8] place    of the walk, or of the search for the best or the heaviest, to go on from; '' at
--                  first
-- ARGV[9] forwards  1: with the terms of the documents
-- ARGV[10] kept_for  version for which an earlier step may have kept the result; '' at first
-- ARGV[11] nladders  fields whose ladders are keys
-- ARGV[12] ntimes    prefixes whose bitmaps are keys
-- ARGV[13] version   for which bitmaps were made, or '*' for any
-- ARGV[14] ntemps  keys for results in between
-- ARGV[15] nranges
-- ARGV[16] nunions
-- ARGV[17] nprefixes
-- ARGV[18...] rest  of each range: low, its opening 0 or 1, high, its opening; of each prefix: its
--                   bounds in :terms and how many terms it had; of each ladder the name of its
--                   field there and its weight; for the orders 'best' and 'heavy' how many hits are
--                   wanted; for 'best' the average length of documents, how many words count, and of
--                   each its weight, 1 if all hits have it, 1 if it is a prefix, how many terms it
--                   stands for, and their places. Length and weights may be '': those of this shard
-- flags: allow-oom
-- returns 'stale'; 'words' when a prefix has other terms now; 'wide'; {'make', version, places of
--   ranges, of unions, of words};
--   or {version, docs, words, total, sizes, kind, next, skipped, numbers, records, forwards, place}:
--   a kind of 'walk' goes on from that place, as 'more' does: a search for the best or the heaviest;
--   a scan goes on with the byte `next`; '' and -1 at the end
-- include: keys
-- include: bests
-- include: counts
-- include: heaviest
-- include: plans
-- include: walks

local FIRST_LADDER = SHARD_KEYS + 3
local FIRST_BOUND = 18 -- index of the first bound in the arguments
local PREFIX_ARGUMENTS, LADDER_ARGUMENTS, WORD_ARGUMENTS = 3, 2, 4
local LADDER_KEYS = 1 + LADDER_STEPS -- the sorted set of the field, and the steps of one end
local CLASSES = TKL__SEARCH_SEVERAL
-- Results of at most this many documents are compared as a whole.
local SMALL_RESULT = 150
-- Bytes of records and terms after which a reply ends: the batch that reaches them is complete.
local REPLY_BYTES = 256 * 1024
local BATCH_LEAST, BATCH_MOST = 8, 256
-- Microseconds after which a walk ends, and a search for the best or the heaviest, in which a last
-- visit may take as long again; the client goes on from there.
local STEP_US, BEST_US = 2000, 1000
-- The result of a plan that took longer than this many microseconds is kept for further steps, for
-- this many milliseconds.
local KEEP_LEAST_US, KEEP_MS = 300, '10000'
local FIELD, RESULT = KEYS[SHARD_KEYS + 1], KEYS[SHARD_KEYS + 2]
local token, skip, steps, order, is_text, first, most, place, with_forwards, kept_for, nladders,
  ntimes, made_for, ntemps, nranges, nunions, nprefixes = unpack(ARGV, 1, FIRST_BOUND - 1)
skip, first, most = tonumber(skip), tonumber(first), tonumber(most)

local began = clock.us()
local amounts = {ranges = tonumber(nranges), unions = tonumber(nunions), temps = tonumber(ntemps)}
local first_times = FIRST_LADDER + LADDER_KEYS * nladders
local first_range = first_times + TIMES * ntimes
local first_prefix = FIRST_BOUND + RANGE_ARGUMENTS * amounts.ranges
local first_ladder = first_prefix + PREFIX_ARGUMENTS * nprefixes
local first_of_order = first_ladder + LADDER_ARGUMENTS * nladders

-- Whether this call has taken its time.
local function is_late()
  return clock.us() > began + STEP_US
end

-- Whether all prefixes of the query still have as many terms as the client knows.
local function prefixes_are_known()
  for i = first_prefix, first_ladder - 1, PREFIX_ARGUMENTS do
    local low, high, count = unpack(ARGV, i, i + PREFIX_ARGUMENTS - 1)
    if redis.call('ZLEXCOUNT', TERMS, low, high) ~= tonumber(count) then
      return false
    end
  end
  return true
end

-- ---- The documents that are wanted -----------------------------------------

-- Matches are {kind, numbers}; and where the client goes on, unless these are all: `next`, a byte, or
-- `place`. Those of a walk have `members` and `skipped`, too. `chosen`: others of the result were left
-- out, since they cannot be wanted.

-- The ladders that are keys: {name, key, steps, weight} of each field.
local function read_ladders()
  local fields = {}
  for i = 1, nladders do
    local key, at = FIRST_LADDER + LADDER_KEYS * (i - 1), first_ladder + LADDER_ARGUMENTS * (i - 1)
    local weight = tonumber(ARGV[at + 1])
    fields[i] = {name = ARGV[at], key = KEYS[key], weight = weight,
                 side = weight > 0 and 'top' or 'low',
                 steps = {unpack(KEYS, key + 1, key + LADDER_STEPS)}}
  end
  return fields
end

-- The first documents of a result in the order of the field.
local function first_matches(result, scratch)
  local wanted = first + most
  local field = read_ladders()[1]
  local near
  if place == '' and field then
    near = walks.nearest(result, field, wanted, scratch)
  end
  if near then
    return {kind = 'list', numbers = near, chosen = true}
  elseif place ~= '' or walks.is_cheaper(result, redis.call('ZCARD', FIELD), wanted) then
    local way = {reverse = order == 'down', is_text = is_text == '1', skip = first, most = most,
                 place = place, stop_us = began + STEP_US}
    local matches = walks.run(result, FIELD, way)
    matches.kind = 'walk'
    return matches
  end
  local all = result.list or sets.read_bits(result.key, result.size, 0, result.size)
  return {kind = 'list', numbers = all}
end

-- The numbers of a list that are not below `least`, ascending.
local function ascending(list, least)
  local numbers = {}
  for i = 1, #list do
    local number = tonumber(list[i])
    if number >= least then
      numbers[#numbers + 1] = number
    end
  end
  table.sort(numbers)
  for i = 1, #numbers do
    numbers[i] = decimal.whole(numbers[i])
  end
  return numbers
end

-- The words that count for the relevance, as their arguments: {weight, required, terms, times}.
-- `times`: of a prefix which of those with bitmaps it is.
local function read_words()
  local words, at, prefixes = {}, first_of_order + 3, 0
  for i = 1, order == 'best' and ARGV[first_of_order + 2] or 0 do
    local weight, required, is_prefix, count = unpack(ARGV, at, at + WORD_ARGUMENTS - 1)
    at = at + WORD_ARGUMENTS
    prefixes = prefixes + is_prefix
    words[i] = {weight = tonumber(weight), required = required == '1', place = i,
                terms = {unpack(ARGV, at, at + count - 1)},
                times = is_prefix == '1' and prefixes}
    at = at + count
  end
  return words
end

local scored = read_words()

-- The operands of the classes of a prefix, made by search/times: those of all its documents first.
local function times_of(word, next)
  local key, operands = first_times + TIMES * (word.times - 1), {}
  for i = 1, TIMES do
    plans.check_length(KEYS[key + i - 1], next)
    operands[i] = {size = redis.call('BITCOUNT', KEYS[key + i - 1]), key = KEYS[key + i - 1],
                   bits = true}
  end
  return operands
end

-- The number of documents that have the most frequent of a word's terms.
local function documents_of(word, terms)
  local most = 0
  for _, place in ipairs(word.terms) do
    most = math.max(most, terms[tonumber(place)].size)
  end
  return most
end

-- Adds to each word its operand and the classes of documents that have it several times; returns the
-- bands of lengths, the average length, and how many hits are wanted. The operands of classes and
-- bands are the last terms of the plan.
local function add_operands(words, plan)
  local wanted, average = unpack(ARGV, first_of_order, first_of_order + 1)
  local docs, first_band = math.max(1, plan.index.docs), #plan.terms - LENGTH_BANDS + 1
  local class = first_band - CLASSES * (#words - ntimes)
  for _, word in ipairs(words) do
    local has, operands = documents_of(word, plan.terms), nil
    if word.times then
      operands, word.times_max = times_of(word, plan.next), TIMES_LEAST[TIMES]
    else
      operands = {plan.terms[tonumber(word.terms[1])], unpack(plan.terms, class, class + CLASSES - 1)}
      class, word.times_max = class + CLASSES, math.huge
    end
    word.operand, word.several = operands[1], {}
    for i = 2, #operands do
      local least = word.times and TIMES_LEAST[i] or 2 ^ (i - 1)
      word.several[i - 1] = {low = least, operand = operands[i], is_coarse = COARSE[least]}
    end
    word.weight = word.weight or math.log(1 + (math.max(0, docs - has) + 0.5) / (has + 0.5))
  end
  average = tonumber(average) or plan.index.words > 0 and plan.index.words / docs or 1
  return {unpack(plan.terms, first_band)}, average, tonumber(wanted)
end

-- The places of the words whose bitmaps have to be made before the best of a result are searched; nil:
-- none.
local function missing_times(result, made)
  local places = {}
  for _, word in ipairs(result.size > SMALL_RESULT and scored or {}) do
    local key = word.times and KEYS[first_times + TIMES * (word.times - 1)]
    if key and not (made and redis.call('EXISTS', key) == 1) then
      places[#places + 1] = word.place
    end
  end
  return #places > 0 and places or nil
end

-- The candidates for the best hits of a result; nil: all of its documents; false and a place: the
-- client has to go on there. `before`: the place of an earlier step, or nil.
local function best_of(result, plan, before, scratch)
  local bands, average, wanted = add_operands(scored, plan)
  if result.size <= math.max(SMALL_RESULT, wanted) then
    return nil
  end
  local best, go_on
  if result.list then
    best = bests.of_list(result.list, scored, average, wanted, scratch)
  elseif not before and is_late() then
    best, go_on = false, bests.first_place() -- the next step begins with the result that is kept
  else
    best, go_on = bests.candidates(result, scored, bands, average, wanted, before, scratch,
                                   plan.next, began + BEST_US)
  end
  if best and #best > SMALL_RESULT and clock.us() > began + BEST_US then
    best, go_on = false, {rest = best} -- the next step reads the records
  end
  return best, go_on
end

-- The candidates for the hits with the greatest sums, as those of best_of().
local function heaviest_of(result, before, scratch)
  local wanted = tonumber(ARGV[first_of_order])
  local first = before and before.step
  local best, step = heaviest.candidates(result, read_ladders(), wanted, first, scratch,
                                         began + BEST_US)
  return best, step and {step = step}
end

-- The candidates for the best or the heaviest hits, as those of best_of().
local function candidates_of(result, plan, scratch)
  local before = place ~= '' and cmsgpack.unpack(place) or nil
  local best, go_on
  if before and before.version ~= plan.index.version then
    return nil
  elseif before and before.rest then
    return before.rest
  elseif order == 'best' then
    best, go_on = best_of(result, plan, before, scratch)
  else
    best, go_on = heaviest_of(result, before, scratch)
  end
  if go_on then
    go_on.version = plan.index.version
  end
  return best, go_on
end

-- Whether the hits are chosen here from their candidates.
local function is_choosing()
  return order == 'best' or order == 'heavy'
end

-- Chooses the wanted documents of a result.
local function choose(result, plan, scratch)
  local best, go_on
  if is_choosing() then
    best, go_on = candidates_of(result, plan, scratch)
  end
  if go_on then
    return {kind = 'more', numbers = {}, place = cmsgpack.pack(go_on)}
  elseif best then
    return {kind = 'list', numbers = best, chosen = true}
  elseif order == 'count' then
    return {kind = 'list', numbers = {}}
  elseif order == 'up' or order == 'down' then
    return first_matches(result, scratch)
  elseif result.list then
    local numbers = first > 0 and ascending(result.list, first * BYTE_BITS) or result.list
    return {kind = 'list', numbers = numbers}
  end
  -- The search for the best has taken its time: few documents of all are sent with it, or none.
  local few = not is_choosing() and most or is_late() and 0 or math.min(most, SMALL_RESULT)
  local numbers, next_byte = sets.read_bits(result.key, result.size, first, few)
  return {kind = is_choosing() and 'all' or 'scan', numbers = numbers, next = next_byte}
end

-- The result that an earlier step has kept for this version of the index; nil: none.
local function read_kept_result(index)
  if kept_for ~= index.version or redis.call('EXISTS', RESULT) == 0 then
    return nil
  end
  plans.check_length(RESULT, index.next)
  return {size = redis.call('BITCOUNT', RESULT), key = RESULT, bits = true}
end

-- Keeps the result of a plan that took long, so that further steps need not execute the plan again.
local function keep_result(result, took_us)
  if result.bits and took_us > KEEP_LEAST_US then
    redis.call('BITOP', 'OR', RESULT, result.key)
    redis.call('PEXPIRE', RESULT, KEEP_MS)
  end
end

-- Executes the plan, or takes the result that was kept of it. Returns the matches with their total,
-- or nil and the reason.
local function find_matches(plan, kept)
  local result, missing
  if kept then
    result = kept
  else
    result, missing = plans.carry_out(steps, plan)
  end
  if not result then
    return nil, missing
  elseif result.key and not result.bits then
    result = sets.list_of(sets.members(result))
  end
  local times = missing_times(result, plan.made)
  if times then
    return nil, {{}, {}, times}
  end
  local took_us = clock.us() - began
  local matches = choose(result, plan, plan.temps[#plan.temps])
  matches.total = result.size
  if not kept and (matches.next or matches.place) and #matches.numbers < most then
    keep_result(result, took_us)
  end
  return matches
end

-- ---- The reply --------------------------------------------------

-- Reads the records of the documents [from, to] and, if asked for, their terms. Returns the bytes.
local function read_batch(matches, from, to)
  local bytes = 0
  for key, values in pairs(with_forwards == '1' and {[DOCS] = matches.records,
                                                     [FORWARD] = matches.forwards}
                           or {[DOCS] = matches.records}) do
    local part = redis.call('HMGET', key, unpack(matches.numbers, from, to))
    for i = 1, #part do
      values[from + i - 1] = part[i]
      bytes = bytes + (part[i] and #part[i] or 0)
    end
  end
  return bytes
end

-- Reads the first documents, as many as fit into a reply. Returns how many were read.
local function read_documents(matches)
  local numbers = matches.numbers
  local bytes, done, batch = 0, 0, BATCH_LEAST
  matches.records, matches.forwards = {}, {}
  while done < #numbers and bytes < REPLY_BYTES do
    local last = math.min(done + batch, #numbers)
    bytes = bytes + read_batch(matches, done + 1, last)
    done = last
    local fits = (REPLY_BYTES - bytes) * done / math.max(bytes, 1)
    batch = math.max(BATCH_LEAST, math.min(BATCH_MOST, math.floor(fits)))
  end
  return done
end

-- Leaves out the documents behind number `count`.
local function cut_documents(matches, count)
  for i = #matches.numbers, count + 1, -1 do
    matches.numbers[i] = nil
  end
end

-- Cuts a walk behind hit number `count`. The client goes on from there.
local function cut_walk(matches, count)
  matches.place = places.of(FIELD, matches.members[count])
  cut_documents(matches, count)
end

-- Cuts a scan behind document number `count` and the others of its byte. The client goes on with
-- the next byte.
local function cut_scan(matches, count)
  local numbers = matches.numbers
  local byte, last = bitmaps.byte_of(numbers[count]), count
  -- At most the 8 numbers of a byte.
  while numbers[last + 1] and bitmaps.byte_of(numbers[last + 1]) == byte do
    last = last + 1
  end
  if last > count then
    read_batch(matches, count + 1, last)
  end
  if last < #numbers then
    matches.next = byte + 1
    cut_documents(matches, last)
  end
end

-- Cuts the candidates for the best hits behind number `count`. The client asks for the rest.
local function cut_best(matches, count, version)
  local rest = {unpack(matches.numbers, count + 1)}
  matches.kind, matches.place = 'more', cmsgpack.pack({version = version, rest = rest})
  cut_documents(matches, count)
end

-- Adds the records of the documents, and their terms. What is too much for one reply is cut: a list
-- becomes a scan, which sends all documents of the result by their numbers: from the first one on, if
-- the list was chosen from them by a field.
local function add_documents(matches, version)
  local count = read_documents(matches)
  if count == #matches.numbers then
    return
  elseif matches.kind == 'walk' then
    cut_walk(matches, count)
    return
  elseif matches.chosen and is_choosing() then
    cut_best(matches, count, version)
    return
  elseif matches.kind == 'list' then
    matches.kind = 'scan'
    if matches.chosen then
      matches.next = 0
      cut_documents(matches, 0)
      return
    end
    matches.numbers = ascending(matches.numbers, 0)
    count = read_documents(matches)
  end
  cut_scan(matches, count)
end

-- The number of documents of each term of the query.
local function sizes_of(terms, count)
  local sizes = {}
  for i = 1, count do
    sizes[i] = terms[i].size
  end
  return sizes
end

-- How many operands of the plan are not terms of the query: those of classes and bands.
local function extra_terms()
  return order == 'best' and LENGTH_BANDS + CLASSES * (#scored - ntimes) or 0
end

local index = indexes.read()
if index.token ~= token then
  return 'stale'
elseif not prefixes_are_known() then
  return 'words'
end
local kept = read_kept_result(index)
-- Further steps need no operands, but those of the words for the search for the best.
local plan = kept and order ~= 'best'
  and {temps = plans.temps_of(KEYS, first_range, amounts), terms = {}, next = index.next,
       index = index}
  or plans.read(KEYS, first_range, ARGV, FIRST_BOUND, amounts, skip, index, made_for)
local matches, why = plans.with_temps(plan.temps, function()
  return find_matches(plan, kept)
end)
if not matches then
  return why == MISSING_WIDE and why or {'make', index.version, why[1], why[2], why[3] or {}}
end
add_documents(matches, index.version)
return {index.version, index.docs, index.words, matches.total,
        sizes_of(plan.terms, #plan.terms - extra_terms()), matches.kind,
        matches.next or -1, matches.skipped or 0, matches.numbers, matches.records, matches.forwards,
        matches.place or ''}
