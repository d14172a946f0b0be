-- Operands of a query: sets of numbers, each in one of five forms.
--   {size, list}           a few, as an array
--   {size, key}            a set
--   {size, key, bits}      a bitmap
--   {size, range}          those with a value between two bounds, not yet read
--   {size, union}          in any of these operands, not yet combined; size is their sum
-- A result of at most LIST_MAX numbers becomes an array as soon as it is found: sets are not larger.
-- include: bits
-- include: parts

local LIST_MAX = 2048
-- BITOP is some ten times slower with more than 16 keys.
local BITOP_KEYS = 16
-- Combining a bitmap with others by BITOP costs as much as testing a bit for so many of its bytes.
local BYTES_PER_BIT = 1440
-- Testing a bit by BITFIELD costs as much as reading so many bytes of the bitmap.
local BYTES_PER_TEST = 200
-- Bits that one BITFIELD tests.
local TESTS_AT_ONCE = 1000
-- A bitmap with more bytes than this for each number is read number by number.
local SPARSE = 64
-- Bytes of a bitmap that are read at once.
local WINDOW_MAX = 2048
-- The value of each bit in its byte: bit 0 is the highest.
local MASK = {[0] = 128, 64, 32, 16, 8, 4, 2, 1}

local function damaged(what)
  error({err = 'DAMAGED ' .. what .. ' of the index was not written by tackle'})
end

-- The result of a command by redis.pcall(), which refuses what is no number.
local function checked(result)
  if type(result) == 'table' and result.err then
    if string.find(result.err, 'offset') or string.find(result.err, 'integer') then
      damaged('a number')
    end
    error(result)
  end
  return result
end

local function nothing()
  return {size = 0, list = {}}
end

local function list_of(list)
  return {size = #list, list = list}
end

-- Appends the result of a command on parts of a list that fit on Lua's stack.
local function in_parts(list, command, key)
  if #list > 0 and #list <= PART then
    return redis.call(command, key, unpack(list))
  end
  local answers = {}
  each_part(1, #list, function(first, last)
    for _, answer in ipairs(redis.call(command, key, unpack(list, first, last))) do
      answers[#answers + 1] = answer
    end
  end)
  return answers
end

-- ---- Testing ---------------------------------------------------------------

-- A function that tells whether a number is in the bitmap, which is read whole.
local function bit_tester(key)
  local bits = redis.call('GET', key) or ''
  local byte, mask = string.byte, MASK
  return function(number)
    local place = number % BYTE_BITS
    local bit = mask[place] or damaged('a number')
    local all = byte(bits, (number - place) / BYTE_BITS + 1)
    return all and all % (2 * bit) >= bit or false
  end
end

-- The same for a few numbers: an array of 0 and 1.
local function test_some(key, list)
  local answers = {}
  for first = 1, #list, TESTS_AT_ONCE do
    local words = {'BITFIELD_RO', key}
    for i = first, math.min(first + TESTS_AT_ONCE - 1, #list) do
      local at = #words
      words[at + 1], words[at + 2], words[at + 3] = 'GET', 'u1', list[i]
    end
    local part = checked(redis.pcall(unpack(words)))
    for i = 1, #part do
      answers[#answers + 1] = part[i]
    end
  end
  return answers
end

-- Those of the list for which the answer is 1, or, if not wanted, 0.
local function keep_answers(list, answers, wanted)
  local kept = {}
  for i = 1, #list do
    if (answers[i] == 1) == wanted then
      kept[#kept + 1] = list[i]
    end
  end
  return kept
end

local function keep_bits(list, key, wanted)
  if #list * BYTES_PER_TEST < redis.call('STRLEN', key) then
    return keep_answers(list, test_some(key, list), wanted)
  end
  local kept, has = {}, bit_tester(key)
  for i = 1, #list do
    if has(tonumber(list[i]) or damaged('a number')) == wanted then
      kept[#kept + 1] = list[i]
    end
  end
  return kept
end

local function keep_set(list, key, wanted)
  return keep_answers(list, in_parts(list, 'SMISMEMBER', key), wanted)
end

local function lookup(list)
  local has = {}
  for i = 1, #list do
    has[tonumber(list[i]) or damaged('a number')] = true
  end
  return has
end

local function keep_list(list, other, wanted)
  local kept, has = {}, lookup(other)
  for i = 1, #list do
    if (has[tonumber(list[i])] or false) == wanted then
      kept[#kept + 1] = list[i]
    end
  end
  return kept
end

local function in_range(score, range)
  return score and score < math.huge
    and (score > range.low or (score == range.low and not range.low_open))
    and (score < range.high or (score == range.high and not range.high_open)) or false
end

local function keep_range(list, range, wanted)
  local kept = {}
  local scores = in_parts(list, 'ZMSCORE', range.key)
  for i = 1, #list do
    local score = scores[i] and tonumber(scores[i])
    if in_range(score, range) == wanted then
      kept[#kept + 1] = list[i]
    end
  end
  return kept
end

-- Those of the list that are in the operand, or, if not wanted, those that are not.
local function keep(list, operand, wanted)
  if #list == 0 then
    return list
  elseif operand.list then
    return keep_list(list, operand.list, wanted)
  elseif operand.range then
    return keep_range(list, operand.range, wanted)
  elseif operand.bits then
    return keep_bits(list, operand.key, wanted)
  end
  return keep_set(list, operand.key, wanted)
end

-- ---- Reading ---------------------------------------------------------------

local function members(operand)
  return operand.list or redis.call('SMEMBERS', operand.key)
end

-- The numbers of a bitmap that has few, one after the other; as read_bits().
local function read_sparse(key, from, most)
  local numbers, next = {}, text_of(from * BYTE_BITS)
  for n = 1, most do
    local at = redis.call('BITPOS', key, '1', next, '-1', 'BIT')
    if at < 0 then
      return numbers, nil
    end
    numbers[n] = text_of(at)
    next = text_of(at + 1)
  end
  local last = numbers[most] or from * BYTE_BITS - 1
  -- The rest of the last byte belongs to it.
  for at = last + 1, (byte_of(last) + 1) * BYTE_BITS - 1 do
    if redis.call('GETBIT', key, text_of(at)) == 1 then
      numbers[#numbers + 1] = text_of(at)
    end
  end
  return numbers, byte_of(last) + 1
end

-- Numbers of a bitmap with `count` bits, ascending, from byte `from` on: all of the bytes that are
-- needed for `most` of them. Returns them and the byte to go on with, nil at the end. At most
-- `most` rounds.
local function read_bits(key, count, from, most)
  local per_number = redis.call('STRLEN', key) / math.max(count, 1)
  if per_number > SPARSE then
    return read_sparse(key, from, most)
  end
  local numbers, n = {}, 0
  local byte, find = string.byte, string.find
  while n < most do
    local at = redis.call('BITPOS', key, '1', text_of(from))
    if at < 0 then
      return numbers, nil
    end
    from = byte_of(at)
    local window = math.min(WINDOW_MAX, math.ceil(per_number * (most - n)))
    local bytes = redis.call('GETRANGE', key, text_of(from), text_of(from + window - 1))
    local place = find(bytes, '%Z')
    -- At most as many rounds as the window has bytes.
    while place do
      local all, base = byte(bytes, place), (from + place - 1) * BYTE_BITS
      for bit = 0, BYTE_BITS - 1 do
        if all >= MASK[bit] then
          all = all - MASK[bit]
          n = n + 1
          numbers[n] = text_of(base + bit)
        end
      end
      place = find(bytes, '%Z', place + 1)
    end
    from = from + #bytes
  end
  return numbers, from
end

-- ---- Combining -------------------------------------------------------------

local function by_size(a, b)
  return a.size < b.size
end

local function keys_of(operands, is_bits)
  local keys = {}
  for _, operand in ipairs(operands) do
    if operand.key and (operand.bits or false) == is_bits then
      keys[#keys + 1] = operand.key
    end
  end
  return keys
end

-- What the intersection begins with: all sets, or the smallest array. Returns it and the operands
-- that are left.
local function first_list(wanted)
  local sets, rest = keys_of(wanted, false), {}
  local list
  if #sets == 1 then
    list = redis.call('SMEMBERS', sets[1])
  elseif #sets > 1 then
    list = redis.call('SINTER', unpack(sets))
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

-- Puts numbers into a bitmap, or takes them out. One that was never given away (`next` is the least
-- of these) could make the bitmap as long as the server allows.
local function set_numbers(key, numbers, bit, next)
  for i = 1, #numbers do
    local number = tonumber(numbers[i])
    if not number or number >= next then
      damaged('a number')
    end
    checked(redis.pcall('SETBIT', key, numbers[i], bit))
  end
end

-- `into` becomes the bitmaps combined; "and" ends early when nothing is left.
local function combine_bits(operation, into, keys)
  redis.call('BITOP', operation, into, unpack(keys, 1, math.min(BITOP_KEYS, #keys)))
  for first = BITOP_KEYS + 1, #keys, BITOP_KEYS - 1 do
    if operation == 'AND' and redis.call('BITPOS', into, '1') < 0 then
      return
    end
    local last = math.min(first + BITOP_KEYS - 2, #keys)
    redis.call('BITOP', operation, into, into, unpack(keys, first, last))
  end
end

-- Those of the list that are in all of the bitmaps, or, if not wanted, in none of them.
local function keep_all_bits(list, keys, wanted, scratch)
  if #list > 0 and #keys > 1 and #list * BYTES_PER_BIT > redis.call('STRLEN', keys[1]) then
    redis.call('DEL', scratch)
    combine_bits(wanted and 'AND' or 'OR', scratch, keys)
    keys = {scratch}
  end
  for _, key in ipairs(keys) do
    list = #list > 0 and keep_bits(list, key, wanted) or list
  end
  return list
end

-- Those of the list that are in all of the operands, or in none of them.
local function keep_all(list, operands, wanted, scratch)
  list = keep_all_bits(list, keys_of(operands, true), wanted, scratch)
  for _, operand in ipairs(operands) do
    if not operand.bits then
      list = keep(list, operand, wanted)
    end
  end
  return list
end

-- All that are in every wanted operand, which are sorted by size, and in no excluded one. One of
-- them at least is a set or an array, so the result is an array.
local function and_lists(wanted, excluded, scratch)
  local list, rest = first_list(wanted)
  list = keep_all(list, rest, true, scratch)
  return list_of(keep_all(list, excluded, false, scratch))
end

local function take_out(key, excluded, scratch, next)
  local bits = keys_of(excluded, true)
  if #bits > 0 then
    redis.call('DEL', scratch)
    combine_bits('OR', scratch, bits)
    redis.call('BITOP', 'AND', scratch, scratch, key)
    redis.call('BITOP', 'XOR', key, key, scratch)
    redis.call('DEL', scratch)
  end
  for _, operand in ipairs(excluded) do
    if not operand.bits then
      set_numbers(key, members(operand), '0', next)
    end
  end
end

-- The same where all wanted ones are bitmaps: one bitmap.
local function and_bits(wanted, excluded, into, scratch, next)
  if #wanted == 1 and #excluded == 0 then
    return wanted[1]
  end
  redis.call('DEL', into) -- so that the server allows what follows even when it is out of memory
  combine_bits('AND', into, keys_of(wanted, true))
  take_out(into, excluded, scratch, next)
  return {size = redis.call('BITCOUNT', into), key = into, bits = true}
end

-- The numbers of sets and arrays, each once.
local function numbers_of(operands)
  local sets = keys_of(operands, false)
  local few = #sets > 0 and redis.call('SUNION', unpack(sets)) or {}
  local has = lookup(few)
  for _, operand in ipairs(operands) do
    for _, number in ipairs(operand.list or {}) do
      local value = tonumber(number) or damaged('a number')
      if not has[value] then
        has[value] = true
        few[#few + 1] = number
      end
    end
  end
  return few
end

-- In any of the operands.
local function or_of(operands, into, next)
  if #operands == 1 then
    return operands[1]
  end
  local few, bits = numbers_of(operands), keys_of(operands, true)
  if #bits == 0 and #few <= LIST_MAX then
    return list_of(few)
  end
  redis.call('DEL', into)
  if #bits > 0 then
    combine_bits('OR', into, bits)
  end
  set_numbers(into, few, '1', next)
  return {size = redis.call('BITCOUNT', into), key = into, bits = true}
end
