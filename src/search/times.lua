-- search/times: one step of making the bitmaps of a prefix, which say how often documents have its
--   words (counts.inc.lua).
-- KEYS[1...] shard  see keys.inc.lua; then as many keys as there are bitmaps, for the count in
--   between; the bitmaps; two keys for results in between; then the keys of the sets that are left:
--   for each word its documents, and the documents that have it at least 2, 4 and 8 times
-- ARGV[1] token   of the index
-- ARGV[2] skip    bytes of a term's key before the term
-- ARGV[3] from    how many sets were counted already
-- ARGV[4] is_last  1: these are the last sets
-- ARGV[5] ttl     milliseconds that the bitmaps are kept
-- flags: allow-oom
-- returns 'stale', or {version, how many sets were counted, or -1 when the bitmaps are complete}
-- include: keys
-- include: counts
-- include: plans

-- The count of each document is a binary number. Digit i is a bitmap: it has the documents in whose
-- count the digit is 1. The four sets of a word add 1, 1, 2 and 4, so a word that a document has 2,
-- 4 or 8 times counts 2, 4 or 8 times. The last digit never goes back to 0: 32 or more is 32.
local DIGITS = 6
local SETS_OF_WORD = 1 + TKL__SEARCH_SEVERAL
local ADDS = {1, 1, 2, 3} -- the digit to which each set of a word is added
local FIRST_KEPT = SHARD_KEYS + TIMES + 1
local FIRST_SCRATCH = FIRST_KEPT + TIMES
local FIRST_SET = FIRST_SCRATCH + 2
local STEP_WORK = 2000 -- microseconds, as estimated by plans.inc.lua
local CARRIES = 2      -- digits that an addition changes on average, about
local digits = {unpack(KEYS, SHARD_KEYS + 1, SHARD_KEYS + DIGITS)}
local made = {unpack(KEYS, FIRST_KEPT, FIRST_KEPT + TIMES - 1)}
local scratch = {unpack(KEYS, FIRST_SCRATCH, FIRST_SET - 1)}
local token, skip, from, is_last, ttl = unpack(ARGV)
skip, from = tonumber(skip), tonumber(from)

-- Adds 1 at a digit to the numbers of the documents of a bitmap.
local function add(key, digit)
  local carry, other = key, scratch[1]
  while digit < DIGITS do
    redis.call('BITOP', 'AND', other, digits[digit], carry)
    redis.call('BITOP', 'XOR', digits[digit], digits[digit], carry)
    if redis.call('BITPOS', other, '1') < 0 then
      return
    end
    digit = digit + 1
    carry, other = other, other == scratch[1] and scratch[2] or scratch[1]
  end
  redis.call('BITOP', 'OR', digits[DIGITS], digits[DIGITS], carry)
end

-- Adds a table of document = number.
local function add_numbers(numbers, next)
  local lists = {}
  for digit = 1, DIGITS do
    lists[digit] = {}
  end
  for number, count in pairs(numbers) do
    if count >= 2 ^ (DIGITS - 1) then
      table.insert(lists[DIGITS], decimal.whole(number))
    else
      for digit = 1, DIGITS - 1 do
        if count % 2 == 1 then
          table.insert(lists[digit], decimal.whole(number))
        end
        count = math.floor(count / 2)
      end
    end
  end
  for digit, list in ipairs(lists) do
    if #list > 0 then
      redis.call('DEL', scratch[2])
      sets.set_numbers(scratch[2], list, '1', next)
      add(scratch[2], digit)
    end
  end
end

-- Makes the bitmaps from the digits, without documents that died in the meantime. It begins with
-- the greatest count: a document has 8 or more if digit 4 is 1, or if it has 16 or more; it has 12
-- or more if digits 4 and 3 are 1, or if it has 16 or more.
local function finish()
  local above, digit = scratch[1], DIGITS
  redis.call('DEL', above)
  for i = TIMES, 1, -1 do
    local least = 2 ^ (digit - 1)
    if TIMES_LEAST[i] == least then
      redis.call('BITOP', 'OR', made[i], digits[digit], above)
      above, digit = made[i], digit - 1
    else
      redis.call('BITOP', 'AND', made[i], digits[digit], digits[digit - 1])
      redis.call('BITOP', 'OR', made[i], made[i], above)
    end
  end
  for i = 1, TIMES do
    redis.call('BITOP', 'AND', made[i], made[i], LIVE)
    -- An empty bitmap exists, too.
    redis.call('SETBIT', made[i], '0', redis.call('GETBIT', made[i], '0'))
  end
  redis.call('DEL', unpack(digits))
end

local function expire(keys)
  for _, key in ipairs(keys) do
    redis.call('PEXPIRE', key, ttl)
  end
end

local index = indexes.read()
if index.token ~= token then
  return 'stale'
elseif from == 0 and redis.call('EXISTS', unpack(made)) == TIMES then
  expire(made)
  return {index.version, -1}
elseif from == 0 then
  redis.call('DEL', unpack(digits))
end

-- The first sets, as many as a step has time for: at most STEP_WORK and one more.
local operands = plans.term_operands(KEYS, FIRST_SET, skip, index.next)
local few, work, done = {}, 0, 0
local bits_work = works.of_bits(index.next)
while done < #operands and work < STEP_WORK do
  local digit = ADDS[(from + done) % SETS_OF_WORD + 1]
  done = done + 1
  local operand = operands[done]
  if operand.bits then
    add(operand.key, digit)
    work = work + 2 * CARRIES * (bits_work + CALL_WORK)
  elseif operand.size > 0 then
    for _, member in ipairs(sets.members(operand)) do
      local number = tonumber(member) or sets.damaged('a number')
      few[number] = (few[number] or 0) + 2 ^ (digit - 1)
    end
    work = work + operand.size * NUMBER_WORK + CALL_WORK
  end
end
add_numbers(few, index.next)
redis.call('DEL', unpack(scratch))
if is_last == '1' and done == #operands then
  finish()
  expire(made)
  return {index.version, -1}
end
expire(digits)
return {index.version, from + done}
