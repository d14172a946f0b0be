-- search/facet: how many documents of a result have each of some terms.
-- KEYS[1...] shard  see keys.inc.lua; then for each range its sorted set and the bitmap that was
--   made of it; the bitmap of each union; keys for results in between; the keys of the plan's
--   terms, then the keys of the terms to count
-- ARGV[1] token   of the index
-- ARGV[2] skip    bytes of a term's key before the term
-- ARGV[3] steps   the plan
-- ARGV[4] ncount  terms to count
-- ARGV[5] version  for which bitmaps were made, or '*' for any
-- ARGV[6] ntemps  keys for results in between
-- ARGV[7] nranges
-- ARGV[8] nunions
-- ARGV[9...] rest  for each range: low, its opening 0 or 1, high, its opening
-- flags: allow-oom
-- returns 'stale'; 'make' when a bitmap is missing; or {version, counts, for each count the record
--   of one of its documents}
-- include: keys
-- include: plans

local FIRST_RANGE = SHARD_KEYS + 1
local FIRST_BOUND = 9 -- index of the first bound in the arguments
local token, skip, steps, ncount, made_for, ntemps, nranges, nunions =
  unpack(ARGV, 1, FIRST_BOUND - 1)
skip, ncount = tonumber(skip), tonumber(ncount)

local amounts = {ranges = tonumber(nranges), unions = tonumber(nunions), temps = tonumber(ntemps)}
local index = indexes.read()
if index.token ~= token then
  return 'stale'
end
local plan = plans.read(KEYS, FIRST_RANGE, ARGV, FIRST_BOUND, amounts, skip, index, made_for)
local terms, temps = plan.terms, plan.temps

-- Returns the key of an operand as a bitmap, which it makes if need be: two commands then count a
-- value.
local function as_bits(operand, into)
  if operand.bits then
    return operand.key
  end
  redis.call('DEL', into)
  sets.set_numbers(into, sets.members(operand), '1', index.next)
  return into
end

-- How many documents of the bitmap are in the operand, and one of them.
local function count(operand, key, scratch)
  if operand.size == 0 then
    return 0
  elseif operand.bits then
    redis.call('BITOP', 'AND', scratch, key, operand.key)
    local number = redis.call('BITPOS', scratch, '1')
    return redis.call('BITCOUNT', scratch), number >= 0 and decimal.whole(number)
  end
  local list = sets.keep_bits(sets.members(operand), key, true)
  return #list, list[1]
end

local counts, records = plans.with_temps(temps, function()
  local result = plans.carry_out(steps, plan)
  local key = result and as_bits(result, temps[1])
  local counts, records = {}, {}
  for i = #terms - ncount + 1, key and #terms or 0 do
    local number
    counts[#counts + 1], number = count(terms[i], key, temps[#temps])
    records[#counts] = number and redis.call('HGET', DOCS, number) or false
  end
  return result and counts, records
end)
return counts and {index.version, counts, records} or 'make'
