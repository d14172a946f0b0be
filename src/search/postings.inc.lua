-- Postings: the numbers of the documents that have a term. They are a set while they are few, and a
-- bitmap when they are many; :common lists the terms with a bitmap and their counts.
-- include: keys
-- include: bitmaps
-- include: shared/decimal

local postings = {}

-- A query takes a quarter of a microsecond for each member of a set, and about 20 for a bitmap:
-- beyond a hundred members a bitmap is faster. A bitmap may use 48 bytes for each member, as much
-- as a member takes in a set of more than 512. SET_MOST limits the work on one set.
local SET_LEAST, SET_MOST, MEMBER_BYTES = 128, 2048, 48
-- A bitmap with fewer members than the limit divided by this becomes a set again.
local SHRINK = 4
-- Number of terms whose counts one command reads.
local TERMS_AT_ONCE = 1000
-- The first letters of the terms that a document stores: words and values. The other terms, bands
-- of lengths and words that a document has several times, follow from these.
local OWN = '^[wv]'

-- The most members of a set when all numbers are below `next`.
function postings.set_limit(next)
  return math.max(SET_LEAST, math.min(SET_MOST, next / BYTE_BITS / MEMBER_BYTES))
end

-- Turns the set of a term into a bitmap.
function postings.grow_to_bits(key, term, next)
  local members = redis.call('SMEMBERS', key)
  for _, number in ipairs(members) do
    if not (string.find(number, '^%d+$') and tonumber(number) < next) then
      error({err = 'DAMAGED the numbers of a term were not written by tackle'})
    end
  end
  redis.call('DEL', key)
  redis.call('SETBIT', key, decimal.whole(next), '0')
  for _, number in ipairs(members) do
    redis.call('SETBIT', key, number, '1')
  end
  redis.call('HSET', COMMON, term, decimal.whole(#members))
end

-- The numbers in a bitmap of `count` bits. At most `count` rounds: a bitmap that becomes a set has
-- few.
function postings.numbers_in(key, count)
  local numbers = {}
  local at = redis.call('BITPOS', key, '1')
  while at >= 0 and #numbers < count do
    local byte = bitmaps.byte_of(at)
    local bits = string.byte(redis.call('GETRANGE', key, decimal.whole(byte), decimal.whole(byte)))
    for bit = BYTE_BITS - 1, 0, -1 do
      if bits % 2 == 1 then
        numbers[#numbers + 1] = decimal.whole(byte * BYTE_BITS + bit)
      end
      bits = (bits - bits % 2) / 2
    end
    at = redis.call('BITPOS', key, '1', decimal.whole(byte + 1))
  end
  return numbers
end

-- Turns the bitmap of a term into a set.
function postings.shrink_to_set(key, term, count)
  local numbers = postings.numbers_in(key, count)
  redis.call('DEL', key)
  redis.call('SADD', key, unpack(numbers))
  redis.call('HDEL', COMMON, term)
end

-- Sets or clears the bits of the numbers; returns how many changed.
function postings.set_bits(key, numbers, bit)
  if #numbers == 1 then
    return redis.call('SETBIT', key, numbers[1], bit) ~= tonumber(bit) and 1 or 0
  end
  local words, changed = {'BITFIELD', key}, 0
  for i = 1, #numbers do
    local at = #words
    words[at + 1], words[at + 2], words[at + 3], words[at + 4] = 'SET', 'u1', numbers[i], bit
  end
  for _, old in ipairs(redis.call(unpack(words))) do
    changed = changed + (old ~= tonumber(bit) and 1 or 0)
  end
  return changed
end

-- Adds numbers to a term.
function postings.post(term, numbers, next)
  if term.is_common then
    local more = postings.set_bits(term.key, numbers, '1')
    redis.call('HINCRBY', COMMON, term.name, more)
    return
  end
  redis.call('SADD', term.key, unpack(numbers))
  local size = redis.call('SCARD', term.key)
  if size <= #numbers and string.find(term.name, OWN) then
    redis.call('ZADD', TERMS, '0', term.name)
  end
  if size > postings.set_limit(next) then
    postings.grow_to_bits(term.key, term.name, next)
  end
end

-- Removes numbers from a term.
function postings.unpost(term, numbers, next)
  if not term.is_common then
    if redis.call('SREM', term.key, unpack(numbers)) > 0 and redis.call('SCARD', term.key) == 0 then
      redis.call('ZREM', TERMS, term.name)
    end
    return
  end
  local less = postings.set_bits(term.key, numbers, '0')
  local left = redis.call('HINCRBY', COMMON, term.name, 0 - less)
  if left <= 0 then
    redis.call('DEL', term.key)
    redis.call('HDEL', COMMON, term.name)
    redis.call('ZREM', TERMS, term.name)
  elseif left < postings.set_limit(next) / SHRINK then
    postings.shrink_to_set(term.key, term.name, left)
  end
end

-- The terms whose keys begin at keys[first_key]: {key, name, is_common}; is_common is set when the
-- term has a bitmap. Rejects a count that is not a number.
function postings.read_terms(keys, first_key, skip)
  local names, terms = {}, {}
  for i = first_key, #keys do
    names[#names + 1] = string.sub(keys[i], skip + 1)
  end
  for chunk = 1, #names, TERMS_AT_ONCE do
    local last = math.min(chunk + TERMS_AT_ONCE - 1, #names)
    local counts = redis.call('HMGET', COMMON, unpack(names, chunk, last))
    for i = chunk, last do
      local count = counts[i - chunk + 1]
      if count and not string.find(count, '^%d+$') then
        error({err = 'DAMAGED the count of a term was not written by tackle'})
      end
      terms[i] = {key = keys[first_key + i - 1], name = names[i], is_common = count}
    end
  end
  return terms
end

-- Calls visit(term, numbers) for each term. The arguments from args[first_arg] on list the
-- documents of each term, one byte per document: its index in `numbers`. A document whose entry
-- there is false is skipped.
function postings.each_term(terms, args, first_arg, numbers, visit)
  for i, term in ipairs(terms) do
    local list = {}
    local owners = args[first_arg + i - 1]
    for k = 1, #owners do
      local number = numbers[string.byte(owners, k)]
      if number then
        list[#list + 1] = number
      end
    end
    if #list > 0 then
      visit(term, list)
    end
  end
end
