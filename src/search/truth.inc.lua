-- Truth: what the records and the terms of documents say. Everything else in an index follows from
-- them, and a check compares it with them.
-- include: keys
-- include: documents
-- include: banding
-- include: postings

local truth = {}

local IN_PIECES = '^%z(%d+)$' -- stands in place of terms that are in pieces
local PIECES_MOST = 4096 -- pieces of the terms of the longest texts are fewer
local VARINT_BYTES = 5 -- longest form of a number of 32 bits
local NUMERIC = 'n' -- the kind of a field, else it is a text
local VALUE_BYTES, HEAD_BYTES = 8, 4 -- sizes of a numeric value, and of the length at the start

-- ---- Records --------------------------------------------------------------------------------

-- Reads a text of a record. Returns the text, or nil when it is missing, and where the next one
-- begins: math.huge when the record ends before.
function truth.read_text(record, at)
  if at + 1 > #record then
    return nil, math.huge
  end
  local more = struct.unpack('>I2', record, at) -- the length + 1
  if more == 0 then
    return nil, at + 2
  end
  return string.sub(record, at + 2, at + more), at + more + 1
end

-- Reads a record. Returns the id, and for each text field the form that is sorted; nil: tackle has
-- not written the record. `kinds` has a letter for each field.
function truth.read_record(record, kinds)
  local at, sorted = HEAD_BYTES + 1, {}
  for field = 1, #kinds do
    if string.sub(kinds, field, field) == NUMERIC then
      at = at + VALUE_BYTES
    else
      local text, other
      text, at = truth.read_text(record, at)
      if text then
        other, at = truth.read_text(record, at)
        sorted[field] = other or text
      end
    end
  end
  if at > #record then
    return nil
  end
  return string.sub(record, at), sorted
end

-- ---- Terms of a document ---------------------------------------------------------------------

-- The number of pieces that terms are in; nil: they are not in pieces.
function truth.pieces_of(terms)
  return tonumber(string.match(terms, IN_PIECES))
end

-- Whether all pieces are there.
function truth.has_pieces(number, count)
  if count > PIECES_MOST then
    return false
  end
  for piece = 1, count do
    if redis.call('HEXISTS', FORWARD, number .. ':' .. piece) == 0 then
      return false
    end
  end
  return true
end

-- Reads the number that begins at a byte.
function truth.read_varint(terms, at)
  local value, unit = 0, 1
  for i = at, at + VARINT_BYTES - 1 do
    local byte = string.byte(terms, i) or 0
    value = value + byte % 128 * unit
    if byte < 128 then
      return value
    end
    unit = unit * 128
  end
  return value
end

-- Whether the terms of a document include a term, at least `least` times. This compares bytes: an
-- entry (record.c) is the term behind its length. It always finds an entry that exists, but
-- positions of other terms may look like one by chance. It searches for the term, not for the
-- length, which is a byte as frequent as positions are.
function truth.has_term(terms, term, least)
  local hit, last = string.find(terms, term, 1, true)
  -- At most #terms rounds: once for each time that these bytes occur.
  while hit do
    if string.byte(terms, hit - 1) == #term and truth.read_varint(terms, last + 1) >= least then
      return true
    end
    hit, last = string.find(terms, term, hit + 1, true)
  end
  return false
end

-- Whether a document with this record and these terms belongs to a term.
function truth.has(record, terms, name)
  local kind, rest = string.sub(name, 1, 1), string.sub(name, 2)
  if kind == 'l' then
    return banding.band_of(documents.length_of(record)) == tonumber(rest)
  elseif kind == 'm' then
    local least = tonumber(string.sub(rest, 1, 1))
    return least ~= nil and truth.has_term(terms, 'w' .. string.sub(rest, 2), least)
  end
  return truth.has_term(terms, name, 0)
end

-- ---- Terms of the index ----------------------------------------------------------------------

-- A term: {key, name, count, is_bits, size}. `count` is what :common says, `is_bits` and `size`
-- describe the key.
function truth.read_term(key, skip)
  local name = string.sub(key, skip + 1)
  local count = redis.call('HGET', COMMON, name)
  local is_bits = count and true or false
  local size = redis.pcall(is_bits and 'BITCOUNT' or 'SCARD', key)
  if type(size) == 'table' then -- an error: the key has the other type
    is_bits = not is_bits
    size = redis.call(is_bits and 'BITCOUNT' or 'SCARD', key)
  end
  return {key = key, name = name, count = count, is_bits = is_bits, size = size}
end

-- Whether :common and :terms agree with the key of a term.
function truth.fits(term)
  if term.is_bits and (term.size == 0 or term.count ~= decimal.whole(term.size)) then
    return false
  elseif term.count and not term.is_bits then
    return false
  end
  local is_own = string.find(term.name, OWN) ~= nil
  local is_listed = redis.call('ZSCORE', TERMS, term.name) and true or false
  return is_listed == (is_own and term.size > 0)
end

-- Whether a term has a number.
function truth.is_posted(term, number)
  if term.is_bits then
    return redis.call('GETBIT', term.key, number) == 1
  end
  return redis.call('SMISMEMBER', term.key, number)[1] == 1
end

-- Corrects what :common and :terms say about a term, from its key. A set that is too large becomes
-- a bitmap.
function truth.settle(term, next)
  local size = redis.call(term.is_bits and 'BITCOUNT' or 'SCARD', term.key)
  if size == 0 then
    redis.call('DEL', term.key)
  end
  if term.is_bits and size > 0 then
    redis.call('HSET', COMMON, term.name, decimal.whole(size))
  else
    redis.call('HDEL', COMMON, term.name)
  end
  if size == 0 then
    redis.call('ZREM', TERMS, term.name)
  elseif string.find(term.name, OWN) then
    redis.call('ZADD', TERMS, '0', term.name)
  end
  if not term.is_bits and size > postings.set_limit(next) then
    postings.grow_to_bits(term.key, term.name, next)
  end
end
