-- search/query: documents that match a query, in an order.
-- KEYS[1...] shard  see keys.inc.lua; then the sorted set by which the result is ordered (any key
--   without); the bitmap of the result, for further steps; for each ladder the sorted set of its
--   field and its steps; for each prefix its bitmaps (counts.inc.lua); for each range its sorted
--   set and the bitmap that was made of it; the bitmap of each union; keys for results in between;
--   the keys of the terms; for the order 'best' the keys of each word's classes and of the bands of
--   lengths
-- ARGV[1] token    of the index
-- ARGV[2] skip     bytes of a term's key before the term
-- ARGV[3] steps    the plan
-- ARGV[4] order    'count', 'up' or 'down' by the field, 'best' by relevance, 'heavy' by a weighted
--                  sum of fields, or 'scan' for candidates by number
-- ARGV[5] is_text  1: the field is a text
-- ARGV[6] first    hits to skip; for a scan the byte to begin with
-- ARGV[7] most     hits from there on, or candidates
-- ARGV[8] resume   where the step before has ended: the place of a walk, or the state of the search
--                  for the best or the heaviest; '' at first
-- ARGV[9] forwards  1: with the terms of the documents
-- ARGV[10] kept_for  version for which an earlier step may have kept the result; '' at first
-- ARGV[11] nladders  fields whose ladders are keys
-- ARGV[12] ntimes    prefixes whose bitmaps are keys
-- ARGV[13] version   for which bitmaps were made, or '*' for any
-- ARGV[14] ntemps  keys for results in between
-- ARGV[15] nranges
-- ARGV[16] nunions
-- ARGV[17] nprefixes
-- ARGV[18...] rest  for each range: low, its opening 0 or 1, high, its opening; for each prefix:
--                   its bounds in :terms and how many terms it had; for each ladder the name of its
--                   field there and its weight; for the orders 'best' and 'heavy' how many hits are
--                   wanted; for 'best' the average length of documents, how many words count, and
--                   for each its weight, 1 if all hits have it, 1 if it is a prefix, how many terms
--                   it stands for, and their indexes. Length and weights may be '': then the shard
--                   uses its own
-- flags: allow-oom
-- returns 'stale'; 'words' when a prefix has other terms now; 'wide'; {'make', version, indexes of
--   ranges, of unions, of words};
--   or {version, docs, words, total, sizes, kind, next, skipped, numbers, records, forwards,
--   resume}. The kinds 'walk' and 'more', a search for the best or the heaviest, go on with
--   `resume`, '' at the end. A scan goes on with the byte `next`, -1 at the end
-- include: keys
-- include: bests
-- include: counts
-- include: heaviest
-- include: plans
-- include: replies
-- include: scorers
-- include: walks

local FIRST_LADDER = SHARD_KEYS + 3
local FIRST_BOUND = 18 -- index of the first bound in the arguments
local PREFIX_ARGUMENTS, LADDER_ARGUMENTS = 3, 2
local LADDER_KEYS = 1 + LADDER_STEPS -- the sorted set of the field, and the steps of one end
-- Microseconds after which a walk ends, and after which a search for the best or the heaviest ends,
-- in which a last visit may take as long again. The next step goes on from there.
local STEP_US, BEST_US = 2000, 1000
-- The result of a plan that took longer than this many microseconds is kept for further steps, for
-- this many milliseconds.
local KEEP_LEAST_US, KEEP_MS = 300, '10000'
local FIELD, RESULT = KEYS[SHARD_KEYS + 1], KEYS[SHARD_KEYS + 2]
local token, skip, steps, order, is_text, first, most, resume, forwards, kept_for, nladders,
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
  if resume == '' and field then
    near = walks.nearest(result, field, wanted, scratch)
  end
  if near then
    return {kind = 'list', numbers = near, is_part = true}
  elseif resume ~= '' or walks.is_cheaper(result, redis.call('ZCARD', FIELD), wanted) then
    local way = {reverse = order == 'down', is_text = is_text == '1', skip = first, most = most,
                 place = resume, stop_us = began + STEP_US}
    local matches = walks.run(result, FIELD, way)
    matches.kind, matches.field_key, matches.resume = 'walk', FIELD, matches.place
    return matches
  end
  local all = result.list or sets.read_bits(result.key, result.size, 0, result.size)
  return {kind = 'list', numbers = all}
end

local scored = order == 'best'
  and scorers.read(ARGV, first_of_order + 2, KEYS, first_times) or {}

-- The candidates for the best hits of a result; nil: all of its documents; false and a state: the
-- next step goes on with it. `before`: the state of the step before, nil at first.
local function best_of(result, plan, before, scratch)
  local wanted, average = unpack(ARGV, first_of_order, first_of_order + 1)
  local bands = scorers.add_operands(scored, plan)
  wanted, average = tonumber(wanted), tonumber(average) or indexes.average_length(plan.index)
  if result.size <= math.max(scorers.least_result(scored), wanted) then
    return nil
  end
  local best, go_on
  if result.list then
    best = bests.of_list(result.list, scored, average, wanted, scratch)
  elseif not before and is_late() then
    best, go_on = false, bests.begin() -- the next step begins with the result that is kept
  else
    local search = {result = result, wanted = wanted, words = scored, bands = bands,
                    average = average, state = before or bests.begin(), scratch = scratch,
                    next = plan.next}
    best, go_on = bests.candidates(search, began + BEST_US)
  end
  if best and #best > SMALL_RESULT and clock.us() > began + BEST_US then
    best, go_on = false, {rest = best} -- the next step reads the records
  end
  return best, go_on
end

-- The same as best_of(), for the hits with the greatest sums.
local function heaviest_of(result, before, scratch)
  local wanted = tonumber(ARGV[first_of_order])
  local first = before and before.step
  local best, step = heaviest.candidates(result, read_ladders(), wanted, first, scratch,
                                         began + BEST_US)
  return best, step and {step = step}
end

-- The same as best_of(), for the order of this call.
local function candidates_of(result, plan, scratch)
  local before = resume ~= '' and cmsgpack.unpack(resume) or nil
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

-- Whether this script chooses the candidates for the hits.
local function is_choosing()
  return order == 'best' or order == 'heavy'
end

-- Chooses the wanted documents of a result. Returns matches (replies.inc.lua).
local function choose(result, plan, scratch)
  local best, go_on
  if is_choosing() then
    best, go_on = candidates_of(result, plan, scratch)
  end
  if go_on then
    return {kind = 'more', numbers = {}, resume = cmsgpack.pack(go_on)}
  elseif best then
    return {kind = 'list', numbers = best, are_candidates = true}
  elseif order == 'count' then
    return {kind = 'list', numbers = {}}
  elseif order == 'up' or order == 'down' then
    return first_matches(result, scratch)
  elseif result.list then
    local numbers = first > 0 and sets.ascending(result.list, first * BYTE_BITS) or result.list
    return {kind = 'list', numbers = numbers}
  end
  -- A search for the best that ends here has taken its time: the reply has few documents or none.
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

-- Executes the plan, or takes the result that an earlier step has kept. Returns the matches with
-- their total, or nil and the reason.
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
  local times = result.size > scorers.least_result(scored)
    and scorers.missing_times(scored, plan.made)
  if times then
    return nil, {{}, {}, times}
  end
  local took_us = clock.us() - began
  local matches = choose(result, plan, plan.temps[#plan.temps])
  matches.total = result.size
  if not kept and (matches.next or matches.resume) and #matches.numbers < most then
    keep_result(result, took_us)
  end
  return matches
end

-- ---- The reply --------------------------------------------------------------

-- The number of documents of each term of the query.
local function sizes_of(terms, count)
  local sizes = {}
  for i = 1, count do
    sizes[i] = terms[i].size
  end
  return sizes
end

local index = indexes.read()
if index.token ~= token then
  return 'stale'
elseif not prefixes_are_known() then
  return 'words'
end
local kept = read_kept_result(index)
-- A further step needs no operands, except for the words of a search for the best.
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
replies.add_documents(matches, index.version, forwards == '1')
local extra = order == 'best' and scorers.extra_terms(scored) or 0
return {index.version, index.docs, index.words, matches.total,
        sizes_of(plan.terms, #plan.terms - extra), matches.kind, matches.next or -1,
        matches.skipped or 0, matches.numbers, matches.records, matches.forwards,
        matches.resume or ''}
