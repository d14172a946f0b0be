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
-- KEYS[10...] more  the steps of the field's ladder; for each range its sorted set and the bitmap that
--                  was made of it; the bitmap of each union; keys for results in between; the
--                  keys of the terms
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
-- ARGV[12] version   for which bitmaps were made, or '*' for any
-- ARGV[13] ntemps  keys for results in between
-- ARGV[14] nranges
-- ARGV[15] nunions
-- ARGV[16] nprefixes
-- ARGV[17...] rest  of each range: low, its opening 0 or 1, high, its opening; of each prefix: its
--                   bounds in :terms and how many terms it had
-- returns 'stale'; 'words' when a prefix has other terms now; 'wide'; {'make', version, places of
-- ranges, places of unions};
-- or {version, docs, words, total, sizes, kind, next, found, numbers, records, forwards}

local META, DOCS, FORWARD, LIVE, DEAD = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local TERMS, COMMON, FIELD, LADDER = KEYS[6], KEYS[7], KEYS[8], KEYS[9]
-- include: plan
-- include: walk
local FIRST_STEP, FIRST_BOUND = 10, 17 -- of the keys, of the arguments
local PREFIX_ARGUMENTS = 3
-- Bytes of terms that a reply takes, and one part more; documents of a part.
local FORWARD_BYTES, FORWARDS_AT_ONCE = 512 * 1024, 50

local token, skip, steps, order = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local is_text, first, most = ARGV[5] == '1', tonumber(ARGV[6]), tonumber(ARGV[7])
local place, found, with_forwards = tonumber(ARGV[8]), tonumber(ARGV[9]), ARGV[10] == '1'
local ladder, made_for = ARGV[11], ARGV[12]
local ntemps, nranges = tonumber(ARGV[13]), tonumber(ARGV[14])
local nunions, nprefixes = tonumber(ARGV[15]), tonumber(ARGV[16])
local stored, version, docs, words, next_number =
  unpack(redis.call('HMGET', META, 'token', 'version', 'docs', 'words', 'next'))
if stored ~= token then
  return 'stale'
end
version, next_number = version or '0', tonumber(next_number or 0)
docs, words = tonumber(docs or 0), tonumber(words or 0)

local first_prefix = FIRST_BOUND + RANGE_ARGUMENTS * nranges
for i = first_prefix, first_prefix + PREFIX_ARGUMENTS * nprefixes - 1, PREFIX_ARGUMENTS do
  local low, high, count = unpack(ARGV, i, i + PREFIX_ARGUMENTS - 1)
  if redis.call('ZLEXCOUNT', TERMS, low, high) ~= tonumber(count) then
    return 'words'
  end
end

local made = made_for == version or made_for == '*'
local FIRST_RANGE = FIRST_STEP + (ladder ~= '' and LADDER_STEPS or 0)
local ranges = read_ranges(FIRST_RANGE, FIRST_BOUND, nranges, made)
local FIRST_UNION = FIRST_RANGE + RANGE_KEYS * nranges
local unions = keys_from(FIRST_UNION, made and nunions or 0)
local temps = keys_from(FIRST_UNION + nunions, ntemps)
local terms = term_operands(FIRST_UNION + nunions + ntemps, skip, next_number)
local sizes = {}
for i = 1, #terms do
  sizes[i] = terms[i].size
end
local all = all_operand(docs, next_number)
local some_dead = redis.call('ZCARD', DEAD) > 0
local leaves = {t = terms, r = ranges, a = {all}, n = {nothing()}}
local by_field = order == 'up' or order == 'down'

-- The documents of a result in the order of the field. Returns kind, numbers, the place to go on with.
local function in_order(result)
  local wanted = first + most
  local side = order == 'down' and 'top' or 'low'
  local near = place == 0 and ladder ~= ''
    and nearest(result, ladder, side, wanted, FIRST_STEP, temps[#temps])
  if near then
    return 'list', near
  elseif walk_is_cheaper(result, redis.call('ZCARD', FIELD), wanted) then
    local way = {reverse = order == 'down', is_text = is_text, skip = first, most = most,
                 place = place, found = found}
    local numbers, next_place = walk(result, way)
    found = way.found
    return 'walk', numbers, next_place
  end
  return 'list', result.list or read_bits(result.key, result.size, 0, result.size)
end

local function by_number(a, b)
  return tonumber(a) < tonumber(b)
end

-- Those of a list from a byte of its bitmap on, if it were one.
local function from_byte(list, byte)
  local rest = {}
  for i = 1, #list do
    if list[i] + 0 >= byte * BYTE_BITS then
      rest[#rest + 1] = list[i]
    end
  end
  table.sort(rest, by_number)
  return rest
end

-- The documents that are wanted of a result, as in_order().
local function choose(result)
  if order == 'count' then
    return 'list', {}
  elseif by_field then
    return in_order(result)
  elseif result.list then
    return 'list', first > 0 and from_byte(result.list, first) or result.list
  end
  return 'scan', read_bits(result.key, result.size, first, most)
end

local matches, why = with_temps(temps, function()
  local result, missing = carry_out(steps, leaves, temps, some_dead and all, unions, next_number)
  if not result then
    return nil, missing
  elseif result.key and not result.bits then
    result = list_of(members(result))
  end
  local kind, numbers, next_place = choose(result)
  return {total = result.size, kind = kind, next_place = next_place or -1, numbers = numbers}
end)
if not matches then
  return why == MISSING_WIDE and why or {'make', version, why[1], why[2]}
end

-- The terms of the first documents, as many as a reply takes.
local function read_forwards(numbers)
  local forwards, bytes = {}, 0
  for from = 1, #numbers, FORWARDS_AT_ONCE do
    local to = math.min(from + FORWARDS_AT_ONCE - 1, #numbers)
    local part = bytes < FORWARD_BYTES and redis.call('HMGET', FORWARD, unpack(numbers, from, to))
    for i = 1, part and #part or 0 do
      forwards[#forwards + 1] = part[i]
      bytes = bytes + (part[i] and #part[i] or 0)
    end
  end
  return forwards
end

-- Cuts the documents of a scan behind number `count` and the others of its byte; the client goes on
-- with the next byte.
local function cut_scan(numbers, count)
  local byte = byte_of(numbers[count])
  local kept = {}
  for i = 1, #numbers do
    if numbers[i] + 0 < (byte + 1) * BYTE_BITS then
      kept[#kept + 1] = numbers[i]
    end
  end
  return kept, byte + 1
end

local kind, next_place, numbers = matches.kind, matches.next_place, matches.numbers
local forwards = {}
if with_forwards then
  forwards = read_forwards(numbers)
end
if with_forwards and #forwards < #numbers then
  table.sort(numbers, by_number)
  kind = 'scan'
  numbers, next_place = cut_scan(numbers, #read_forwards(numbers))
  forwards = in_parts(numbers, 'HMGET', FORWARD)
end
return {version, docs, words, matches.total, sizes, kind, next_place, found, numbers,
        in_parts(numbers, 'HMGET', DOCS), forwards}
