-- search/facet: how many documents of a result have each of some terms.
-- KEYS[1] meta    hash: token, version, docs
-- KEYS[2] live    bitmap of the numbers that can be found
-- KEYS[3] dead    sorted set: number, stamp
-- KEYS[4] common  hash: term that has a bitmap, count
-- KEYS[5] shown   hash: term of a value, the value as it was written
-- KEYS[6...] more  for each range its sorted set and the bitmap that was made of it; the bitmap of
--                  each union; keys for results in between; the keys of the plan's terms, then of
--                  those to count
-- ARGV[1] token   of the index
-- ARGV[2] skip    bytes of a term's key before the term
-- ARGV[3] steps   the plan
-- ARGV[4] ncount  terms to count
-- ARGV[5] version  for which bitmaps were made, or '*' for any
-- ARGV[6] ntemps  keys for results in between
-- ARGV[7] nranges
-- ARGV[8] nunions
-- ARGV[9...] rest  of each range: low, its opening 0 or 1, high, its opening
-- returns 'stale'; 'make' when a bitmap is missing; or {version, counts, values as shown}

local META, LIVE, DEAD, COMMON, SHOWN = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
-- include: plan
local FIRST_RANGE, FIRST_BOUND = 6, 9

local token, skip, steps, ncount = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local ntemps, nranges, nunions = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local made_for = ARGV[5]
local stored, version, docs, next_number =
  unpack(redis.call('HMGET', META, 'token', 'version', 'docs', 'next'))
if stored ~= token then
  return 'stale'
end
version, docs, next_number = version or '0', tonumber(docs or 0), tonumber(next_number or 0)
local made = made_for == version or made_for == '*'
local ranges = read_ranges(FIRST_RANGE, FIRST_BOUND, nranges, made)
local FIRST_UNION = FIRST_RANGE + RANGE_KEYS * nranges
local unions = keys_from(FIRST_UNION, made and nunions or 0)
local temps = keys_from(FIRST_UNION + nunions, ntemps)
local terms = term_operands(FIRST_UNION + nunions + ntemps, skip, next_number)
local all = all_operand(docs, next_number)
local some_dead = redis.call('ZCARD', DEAD) > 0
local leaves = {t = terms, r = ranges, a = {all}, n = {nothing()}}

-- As a bitmap: every value is then counted by two commands.
local function as_bits(operand, into)
  if operand.bits then
    return operand.key
  end
  redis.call('DEL', into)
  set_numbers(into, members(operand), '1', next_number)
  return into
end

local function count(operand, key, scratch)
  if operand.size == 0 then
    return 0
  elseif operand.bits then
    redis.call('BITOP', 'AND', scratch, key, operand.key)
    return redis.call('BITCOUNT', scratch)
  end
  return #keep_bits(members(operand), key, true)
end

local names = {}
for i = #KEYS - ncount + 1, #KEYS do
  names[#names + 1] = string.sub(KEYS[i], skip + 1)
end
local counts = with_temps(temps, function()
  local result = carry_out(steps, leaves, temps, some_dead and all, unions, next_number)
  local key = result and as_bits(result, temps[1])
  local counts = {}
  for i = #terms - ncount + 1, key and #terms or 0 do
    counts[#counts + 1] = count(terms[i], key, temps[#temps])
  end
  return result and counts
end)
return counts and {version, counts, redis.call('HMGET', SHOWN, unpack(names))} or 'make'
