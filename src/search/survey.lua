-- search/survey: look for numbers that terms should not have, and for terms that are counted wrong.
-- KEYS[1...] shard  see keys.inc.lua; then the keys of the terms
-- ARGV[1] token  of the index
-- ARGV[2] skip   bytes of a term's key before the term
-- ARGV[3] from   the number from which the first term is looked at
-- flags: no-writes
-- returns 'stale', or {how many terms are done, the number from which to go on in the next term,
--   suspects}. A suspect is three elements: the index of the term from 1, the number or '' for the
--   term as a whole, and how many pieces the document's terms have or 0
-- include: truth
-- include: bitmaps
-- include: shared/clock

local STEP_US = 1000 -- short, since the last step may compare long documents
local WINDOW_BYTES = 64 -- bytes of a bitmap that are looked at together
local SETS_MOST = 2 * SET_MOST -- members that are read; a set becomes a bitmap before
-- Documents that are compared at once: more while their terms are short.
local NUMBERS_LEAST, NUMBERS_MOST, SHORT_BYTES = 4, 128, 16 * 1024
local token, skip, from = unpack(ARGV)
skip, from = tonumber(skip), tonumber(from)
local began, suspects = clock.us(), {}

local function suspect(index, number, count)
  local at = #suspects
  suspects[at + 1], suspects[at + 2], suspects[at + 3] = index, number, count
end

-- Compares numbers of a term with their documents. Returns the bytes of their terms.
local function compare(index, term, numbers)
  local terms = redis.call('HMGET', FORWARD, unpack(numbers))
  local is_band = string.find(term.name, '^l') ~= nil
  local records = is_band and redis.call('HMGET', DOCS, unpack(numbers))
  local bytes = 0
  for i, number in ipairs(numbers) do
    local own = terms[i]
    bytes = bytes + (own and #own or 0)
    local count = own and truth.pieces_of(own)
    if own and count and not is_band then
      suspect(index, number, count)
    elseif not own or (is_band and not records[i])
      or not truth.has(records and records[i], own, term.name) then
      suspect(index, number, 0)
    end
  end
  return bytes
end

-- The next numbers of a bitmap, ascending, and from where to go on; nil: there are none.
local function numbers_from(term, number)
  local at = redis.call('BITPOS', term.key, '1', decimal.whole(bitmaps.byte_of(number)))
  if at < 0 then
    return nil
  end
  local first, numbers = bitmaps.byte_of(at), {}
  local last = first + WINDOW_BYTES - 1
  local window = redis.call('GETRANGE', term.key, decimal.whole(first), decimal.whole(last))
  for i = 1, #window do
    local byte = string.byte(window, i)
    for bit = 0, byte > 0 and BYTE_BITS - 1 or -1 do
      local found = (first + i - 1) * BYTE_BITS + bit
      if found >= number and math.floor(byte / 2 ^ (BYTE_BITS - 1 - bit)) % 2 == 1 then
        numbers[#numbers + 1] = decimal.whole(found)
      end
    end
  end
  return numbers, (last + 1) * BYTE_BITS
end

-- A member of a set as a number; 0: tackle has not written it.
local function number_of(member)
  return string.find(member, '^%d+$') and tonumber(member) or 0
end

-- The members of a set from a number on, ascending.
local function members_from(term, number)
  local numbers = {}
  for _, member in ipairs(redis.call('SMEMBERS', term.key)) do -- at most SETS_MOST
    if number_of(member) >= number then
      numbers[#numbers + 1] = member
    end
  end
  table.sort(numbers, function(a, b)
    return number_of(a) < number_of(b)
  end)
  return numbers
end

-- Compares numbers of a term, until the step ends. Returns the first one that is left; nil: none.
local function compare_some(index, term, numbers)
  local first, count = 1, NUMBERS_LEAST
  -- At most #numbers rounds: SETS_MOST, or the numbers of a window.
  while first <= #numbers do
    local last = math.min(first + count - 1, #numbers)
    local bytes = compare(index, term, {unpack(numbers, first, last)})
    count = bytes < SHORT_BYTES and math.min(2 * count, NUMBERS_MOST) or NUMBERS_LEAST
    first = last + 1
    if first <= #numbers and clock.us() - began > STEP_US then
      return number_of(numbers[first])
    end
  end
  return nil
end

-- Looks at a term from a number on. Returns from where to go on; nil: the term is done.
local function look(index, term, number)
  if number == 0 and not truth.fits(term) then
    suspect(index, '', 0)
  end
  if term.is_bits then
    local numbers, behind = numbers_from(term, number)
    return numbers and (compare_some(index, term, numbers) or behind)
  elseif term.size > SETS_MOST then
    error({err = 'DAMAGED the numbers of a term were not written by tackle'})
  end
  return compare_some(index, term, members_from(term, number))
end

if redis.call('HGET', META, 'token') ~= token then
  return 'stale'
end
local done = 0
-- At most a round for each term and each window of its bitmap: the clock ends them earlier.
while done < #KEYS - SHARD_KEYS and clock.us() - began < STEP_US do
  from = look(done + 1, truth.read_term(KEYS[SHARD_KEYS + done + 1], skip), from)
  if not from then
    done, from = done + 1, 0
  end
end
return {done, from, suspects}
