-- Sets of numbers, the operands of a query, each in one of five forms.
--   {size, list}           a few, as an array
--   {size, key}            a set
--   {size, key, bits}      a bitmap
--   {size, range}          the documents with a value between two bounds, not yet read
--   {size, union}          the numbers in any of some operands, not yet combined; size is their sum
-- A result of at most LIST_MAX numbers becomes an array as soon as it is found: sets are not
-- larger.
-- include: bitmaps
-- include: parts
-- include: shared/decimal

local sets = {}

local LIST_MAX = 2048
-- BITOP is some ten times slower with more than 16 keys.
local BITOP_KEYS = 16
-- Combining bitmaps by BITOP costs as much per this many bytes as testing one bit.
local BYTES_PER_BIT = 1440
-- Testing a bit by BITFIELD costs as much as reading this many bytes of the bitmap.
local BYTES_PER_TEST = 200
-- Number of bits that one BITFIELD tests.
local TESTS_AT_ONCE = 1000
-- A bitmap with more than this many bytes per number is read number by number.
local SPARSE = 64
-- Bytes of a bitmap that are read at once.
local WINDOW_MAX = 2048
-- The value of each bit in its byte: bit 0 is the highest.
local MASK = {[0] = 128, 64, 32, 16, 8, 4, 2, 1}

-- Ends the script with an error.
function sets.damaged(what)
  error({err = 'DAMAGED ' .. what .. ' of the index was not written by tackle'})
end

-- Returns the result of redis.pcall(). An error about an offset or an integer means that tackle has
-- not written the number.
function sets.checked(result)
  if type(result) == 'table' and result.err then
    if string.find(result.err, 'offset') or string.find(result.err, 'integer') then
      sets.damaged('a number')
    end
    error(result)
  end
  return result
end

-- An operand without numbers.
function sets.nothing()
  return {size = 0, list = {}}
end

-- The operand of an array.
function sets.list_of(list)
  return {size = #list, list = list}
end

-- The result of a command on a list, passed in parts that fit on Lua's stack.
function sets.in_parts(list, command, key)
  if #list > 0 and #list <= PART then
    return redis.call(command, key, unpack(list))
  end
  local answers = {}
  parts.each(1, #list, function(first, last)
    for _, answer in ipairs(redis.call(command, key, unpack(list, first, last))) do
      answers[#answers + 1] = answer
    end
  end)
  return answers
end

-- ---- Testing ---------------------------------------------------------------

-- Returns a function that tests whether a number is in the bitmap. The bitmap is read whole.
function sets.bit_tester(key)
  local bits = redis.call('GET', key) or ''
  local byte, mask = string.byte, MASK
  return function(number)
    local position = number % BYTE_BITS
    local bit = mask[position] or sets.damaged('a number')
    local all = byte(bits, (number - position) / BYTE_BITS + 1)
    return all and all % (2 * bit) >= bit or false
  end
end

-- Whether each of a few numbers is in the bitmap: an array of 0 and 1.
function sets.test_some(key, list)
  local answers = {}
  for first = 1, #list, TESTS_AT_ONCE do
    local words = {'BITFIELD_RO', key}
    for i = first, math.min(first + TESTS_AT_ONCE - 1, #list) do
      local at = #words
      words[at + 1], words[at + 2], words[at + 3] = 'GET', 'u1', list[i]
    end
    local part = sets.checked(redis.pcall(unpack(words)))
    for i = 1, #part do
      answers[#answers + 1] = part[i]
    end
  end
  return answers
end

-- The numbers of the list for which the answer is 1, or, if not wanted, 0.
function sets.keep_answers(list, answers, wanted)
  local kept = {}
  for i = 1, #list do
    if (answers[i] == 1) == wanted then
      kept[#kept + 1] = list[i]
    end
  end
  return kept
end

-- The numbers of the list that are in the bitmap, or, if not wanted, the others.
function sets.keep_bits(list, key, wanted)
  if #list == 1 then
    local bit = sets.checked(redis.pcall('GETBIT', key, list[1]))
    return (bit == 1) == wanted and list or {}
  elseif #list * BYTES_PER_TEST < redis.call('STRLEN', key) then
    return sets.keep_answers(list, sets.test_some(key, list), wanted)
  end
  local kept, has = {}, sets.bit_tester(key)
  for i = 1, #list do
    if has(tonumber(list[i]) or sets.damaged('a number')) == wanted then
      kept[#kept + 1] = list[i]
    end
  end
  return kept
end

-- The same as sets.keep_bits(), for a set.
function sets.keep_set(list, key, wanted)
  return sets.keep_answers(list, sets.in_parts(list, 'SMISMEMBER', key), wanted)
end

-- The numbers of a list as a table of number = true.
function sets.lookup(list)
  local has = {}
  for i = 1, #list do
    has[tonumber(list[i]) or sets.damaged('a number')] = true
  end
  return has
end

-- The same as sets.keep_bits(), for an array.
function sets.keep_list(list, other, wanted)
  local kept, has = {}, sets.lookup(other)
  for i = 1, #list do
    if (has[tonumber(list[i])] or false) == wanted then
      kept[#kept + 1] = list[i]
    end
  end
  return kept
end

function sets.in_range(score, range)
  return score and score < math.huge
    and (score > range.low or (score == range.low and not range.low_open))
    and (score < range.high or (score == range.high and not range.high_open)) or false
end

-- The same as sets.keep_bits(), for a range.
function sets.keep_range(list, range, wanted)
  local kept = {}
  local scores = sets.in_parts(list, 'ZMSCORE', range.key)
  for i = 1, #list do
    local score = scores[i] and tonumber(scores[i])
    if sets.in_range(score, range) == wanted then
      kept[#kept + 1] = list[i]
    end
  end
  return kept
end

-- The numbers of the list that are in the operand, or, if not wanted, the others.
function sets.keep(list, operand, wanted)
  if #list == 0 then
    return list
  elseif operand.list then
    return sets.keep_list(list, operand.list, wanted)
  elseif operand.range then
    return sets.keep_range(list, operand.range, wanted)
  elseif operand.bits then
    return sets.keep_bits(list, operand.key, wanted)
  end
  return sets.keep_set(list, operand.key, wanted)
end

-- ---- Reading ---------------------------------------------------------------

-- The numbers of a list that are not below `least`, ascending.
function sets.ascending(list, least)
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

-- The numbers of an array or a set.
function sets.members(operand)
  return operand.list or redis.call('SMEMBERS', operand.key)
end

-- Reads a bitmap with few numbers, one number at a time; the result is that of sets.read_bits().
function sets.read_sparse(key, from, most)
  local numbers, next = {}, decimal.whole(from * BYTE_BITS)
  for n = 1, most do
    local at = redis.call('BITPOS', key, '1', next, '-1', 'BIT')
    if at < 0 then
      return numbers, nil
    end
    numbers[n] = decimal.whole(at)
    next = decimal.whole(at + 1)
  end
  local last = numbers[most] or from * BYTE_BITS - 1
  -- The other numbers of the last byte belong to the result.
  for at = last + 1, (bitmaps.byte_of(last) + 1) * BYTE_BITS - 1 do
    if redis.call('GETBIT', key, decimal.whole(at)) == 1 then
      numbers[#numbers + 1] = decimal.whole(at)
    end
  end
  return numbers, bitmaps.byte_of(last) + 1
end

-- Reads numbers of a bitmap with `count` bits, ascending, from byte `from` on: at least `most`, and
-- all numbers of the bytes that it reads. Returns them and the byte to go on with, nil at the end.
-- At most `most` rounds.
function sets.read_bits(key, count, from, most)
  local per_number = redis.call('STRLEN', key) / math.max(count, 1)
  if per_number > SPARSE then
    return sets.read_sparse(key, from, most)
  end
  local numbers, n = {}, 0
  local byte, find = string.byte, string.find
  while n < most do
    local at = redis.call('BITPOS', key, '1', decimal.whole(from))
    if at < 0 then
      return numbers, nil
    end
    from = bitmaps.byte_of(at)
    local window = math.min(WINDOW_MAX, math.ceil(per_number * (most - n)))
    local bytes = redis.call('GETRANGE', key, decimal.whole(from), decimal.whole(from + window - 1))
    local filled = find(bytes, '%Z')
    -- At most as many rounds as the window has bytes.
    while filled do
      local all, base = byte(bytes, filled), (from + filled - 1) * BYTE_BITS
      for bit = 0, BYTE_BITS - 1 do
        if all >= MASK[bit] then
          all = all - MASK[bit]
          n = n + 1
          numbers[n] = decimal.whole(base + bit)
        end
      end
      filled = find(bytes, '%Z', filled + 1)
    end
    from = from + #bytes
  end
  return numbers, from
end

-- ---- Combining -------------------------------------------------------------

function sets.by_size(a, b)
  return a.size < b.size
end

-- The keys of the operands that are bitmaps, or else of the operands that are sets.
function sets.keys_of(operands, is_bits)
  local keys = {}
  for _, operand in ipairs(operands) do
    if operand.key and (operand.bits or false) == is_bits then
      keys[#keys + 1] = operand.key
    end
  end
  return keys
end

-- The list that an intersection starts with: the intersection of all sets, or else the smallest
-- array; and the operands that are left.
function sets.first_list(wanted)
  local plain_sets, rest = sets.keys_of(wanted, false), {}
  local list
  if #plain_sets == 1 then
    list = redis.call('SMEMBERS', plain_sets[1])
  elseif #plain_sets > 1 then
    list = redis.call('SINTER', unpack(plain_sets))
  end
  for _, operand in ipairs(wanted) do
    if operand.list and not list then
      list = operand.list
    elseif operand.list or operand.bits or operand.range then
      rest[#rest + 1] = operand
    end
  end
  return list, rest
end

-- Sets or clears the bits of numbers in a bitmap. Rejects numbers that were never used (`next` and
-- above): they could make the bitmap as long as the server allows.
function sets.set_numbers(key, numbers, bit, next)
  for i = 1, #numbers do
    local number = tonumber(numbers[i])
    if not number or number >= next then
      sets.damaged('a number')
    end
    sets.checked(redis.pcall('SETBIT', key, numbers[i], bit))
  end
end

-- Combines bitmaps into one; "and" stops early when nothing is left.
function sets.combine_bits(operation, into, keys)
  redis.call('BITOP', operation, into, unpack(keys, 1, math.min(BITOP_KEYS, #keys)))
  for first = BITOP_KEYS + 1, #keys, BITOP_KEYS - 1 do
    if operation == 'AND' and redis.call('BITPOS', into, '1') < 0 then
      return
    end
    local last = math.min(first + BITOP_KEYS - 2, #keys)
    redis.call('BITOP', operation, into, into, unpack(keys, first, last))
  end
end

-- The numbers of the list that are in all of the bitmaps, or, if not wanted, in none of them.
function sets.keep_all_bits(list, keys, wanted, scratch)
  if #list > 0 and #keys > 1 and #list * BYTES_PER_BIT > redis.call('STRLEN', keys[1]) then
    redis.call('DEL', scratch)
    sets.combine_bits(wanted and 'AND' or 'OR', scratch, keys)
    keys = {scratch}
  end
  for _, key in ipairs(keys) do
    list = #list > 0 and sets.keep_bits(list, key, wanted) or list
  end
  return list
end

-- The numbers of the list that are in all of the operands, or, if not wanted, in none of them.
function sets.keep_all(list, operands, wanted, scratch)
  list = sets.keep_all_bits(list, sets.keys_of(operands, true), wanted, scratch)
  for _, operand in ipairs(operands) do
    if not operand.bits then
      list = sets.keep(list, operand, wanted)
    end
  end
  return list
end

-- The numbers that are in every wanted operand, which are sorted by size, and in no excluded one.
-- One of the wanted is a set or an array, so the result is an array.
function sets.and_lists(wanted, excluded, scratch)
  local list, rest = sets.first_list(wanted)
  list = sets.keep_all(list, rest, true, scratch)
  return sets.list_of(sets.keep_all(list, excluded, false, scratch))
end

-- Removes the excluded operands from a bitmap.
function sets.take_out(key, excluded, scratch, next)
  local bits = sets.keys_of(excluded, true)
  if #bits > 0 then
    redis.call('DEL', scratch)
    sets.combine_bits('OR', scratch, bits)
    redis.call('BITOP', 'AND', scratch, scratch, key)
    redis.call('BITOP', 'XOR', key, key, scratch)
    redis.call('DEL', scratch)
  end
  for _, operand in ipairs(excluded) do
    if not operand.bits then
      sets.set_numbers(key, sets.members(operand), '0', next)
    end
  end
end

-- The same as sets.and_lists() when all wanted operands are bitmaps: the result is a bitmap, too.
function sets.and_bits(wanted, excluded, into, scratch, next)
  if #wanted == 1 and #excluded == 0 then
    return wanted[1]
  end
  sets.combine_bits('AND', into, sets.keys_of(wanted, true))
  sets.take_out(into, excluded, scratch, next)
  return {size = redis.call('BITCOUNT', into), key = into, bits = true}
end

-- The numbers of sets and arrays, each once.
function sets.numbers_of(operands)
  local plain_sets = sets.keys_of(operands, false)
  local few = #plain_sets > 0 and redis.call('SUNION', unpack(plain_sets)) or {}
  local has = sets.lookup(few)
  for _, operand in ipairs(operands) do
    for _, number in ipairs(operand.list or {}) do
      local value = tonumber(number) or sets.damaged('a number')
      if not has[value] then
        has[value] = true
        few[#few + 1] = number
      end
    end
  end
  return few
end

-- The numbers in any of the operands.
function sets.or_of(operands, into, next)
  if #operands == 1 then
    return operands[1]
  end
  local few, bits = sets.numbers_of(operands), sets.keys_of(operands, true)
  if #bits == 0 and #few <= LIST_MAX then
    return sets.list_of(few)
  end
  redis.call('DEL', into)
  if #bits > 0 then
    sets.combine_bits('OR', into, bits)
  end
  sets.set_numbers(into, few, '1', next)
  return {size = redis.call('BITCOUNT', into), key = into, bits = true}
end
