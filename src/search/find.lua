-- search/find: documents that match a query, in an order.
-- KEYS[1] meta     hash: token, version, next, docs, words
-- KEYS[2] docs     hash: number, record
-- KEYS[3] forward  hash: number, its terms
-- KEYS[4] live     bitmap of the numbers that can be found
-- KEYS[5] dead     sorted set: number, stamp
-- KEYS[6] terms    sorted set by bytes
-- KEYS[7] common   hash: term that has a bitmap, count
-- KEYS[8] field    sorted set by which the result is ordered; any key without
-- KEYS[9] ladder   hash: step, threshold
-- KEYS[10...] more  the steps of the field's ladder; for each range its sorted set and the bitmap that was made of it; keys for
--                  results in between; the keys of the terms
-- ARGV[1] token    of the index
-- ARGV[2] skip     bytes of a term's key before the term
-- ARGV[3] steps    the plan
-- ARGV[4] order    'count', 'up' or 'down' by the field, or 'scan' for candidates by number
-- ARGV[5] is_text  1: the field is a text
-- ARGV[6] first    hits to skip; of a scan: the byte to begin with
-- ARGV[7] most     hits, or candidates
-- ARGV[8] place    of the walk, to go on; 0 at first
-- ARGV[9] found    hits before that place
-- ARGV[10] forwards  1: with the terms of the documents
-- ARGV[11] ladder    name of the field in the ladder, '' for none; its steps are keys then
-- ARGV[12] version   for which bitmaps of ranges were made, or '*' for any
-- ARGV[13] ntemps  keys for results in between
-- ARGV[14] nranges
-- ARGV[15] nprefixes
-- ARGV[16...] rest  of each range: low, its opening 0 or 1, high, its opening; of each prefix: its
--                   bounds in :terms and how many terms it had
-- returns 'stale'; 'words' when a prefix has other terms now; 'wide'; {'ranges', version, places};
-- or {version, docs, words, total, sizes, kind, next, found, numbers, records, forwards}

local META, DOCS, FORWARD, LIVE, DEAD = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local TERMS, COMMON, FIELD, LADDER = KEYS[6], KEYS[7], KEYS[8], KEYS[9]
-- include: plan
-- include: walk
local FIRST_STEP, FIRST_BOUND = 10, 16

local token, skip, steps, order = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local is_text, first, most = ARGV[5] == '1', tonumber(ARGV[6]), tonumber(ARGV[7])
local place, found, with_forwards = tonumber(ARGV[8]), tonumber(ARGV[9]), ARGV[10] == '1'
local ntemps, nranges, nprefixes = tonumber(ARGV[13]), tonumber(ARGV[14]), tonumber(ARGV[15])
local head = redis.call('HMGET', META, 'token', 'version', 'docs', 'words', 'next')
if head[1] ~= token then
  return 'stale'
end
local version = head[2] or '0'
local docs, words = tonumber(head[3] or 0), tonumber(head[4] or 0)
local next_number = tonumber(head[5] or 0)

local first_prefix = FIRST_BOUND + 4 * nranges
for i = first_prefix, first_prefix + 3 * nprefixes - 1, 3 do
  if redis.call('ZLEXCOUNT', TERMS, ARGV[i], ARGV[i + 1]) ~= tonumber(ARGV[i + 2]) then
    return 'words'
  end
end

local made = ARGV[12] == version or ARGV[12] == '*'
local FIRST_RANGE = FIRST_STEP + (ARGV[11] ~= '' and LADDER_STEPS or 0)
local ranges = read_ranges(FIRST_RANGE, FIRST_BOUND, nranges, made)
local temps = read_temps(FIRST_RANGE + 2 * nranges, ntemps)
local terms = term_operands(FIRST_RANGE + 2 * nranges + ntemps, skip, next_number)
local sizes = {}
for i = 1, #terms do
  sizes[i] = terms[i].size
end
local all = all_operand(docs, next_number)
local some_dead = redis.call('ZCARD', DEAD) > 0
local leaves = {t = terms, r = ranges, a = {all}, n = {nothing()}}
local result, why = carry_out(steps, leaves, temps, some_dead and all)

if not result then
  redis.call('DEL', unpack(temps))
  return why == MISSING_WIDE and why or {'ranges', version, why}
end
if result.key and not result.bits then
  result = list_of(members(result))
end

local kind, next_place, numbers = 'list', 0, result.list
local by_field = order == 'up' or order == 'down'
local near = by_field and place == 0 and ARGV[11] ~= ''
  and nearest(result, ARGV[11], order == 'down' and 'top' or 'low', first + most, FIRST_STEP,
    temps[#temps])
if order == 'count' then
  numbers = {}
elseif near then
  numbers = near
elseif by_field and walk_is_cheaper(result, redis.call('ZCARD', FIELD), first + most) then
  local way = {reverse = order == 'down', is_text = is_text, skip = first, most = most,
               place = place, found = found}
  kind = 'walk'
  numbers, next_place = walk(result, way)
  found = way.found
elseif not numbers and order == 'scan' then
  kind = 'scan'
  numbers, next_place = read_bits(result.key, result.size, first, most)
elseif not numbers then
  numbers, next_place = read_bits(result.key, result.size, 0, result.size)
end
redis.call('DEL', unpack(temps))
return {version, docs, words, result.size, sizes, kind, next_place or -1, found, numbers,
        #numbers > 0 and in_parts(numbers, 'HMGET', DOCS) or {},
        with_forwards and #numbers > 0 and in_parts(numbers, 'HMGET', FORWARD) or {}}
