-- search/census: look at numbers one by one, correct what the index says about them, and count the
--   words of their documents.
-- KEYS[1...] shard  see keys.inc.lua
-- ARGV[1] token  of the index
-- ARGV[2] check  the check that asks: a later one ends it
-- ARGV[3] kinds  a letter for each field: n numeric, t text
-- ARGV[4] free   1: numbers without a document become free; no documents are returned
-- ARGV[5] from   the first number
-- returns 'stale', 'other' when another check has begun, or {the number to go on from or -1,
--   numbers of versions that died, {number, record, terms} of each document, how many numbers were
--   corrected, how many documents were lost}
-- include: truth
-- include: pieces
-- include: shared/clock
-- include: indexes

local STEP_US = 2000
local AT_ONCE = 16 -- numbers: terms of a document take up to 64 KB
local ALL = '9007199254740992' -- greater than all numbers
local token, check, kinds, free, from = unpack(ARGV)
from = tonumber(from)
local olds, found, mended, lost, words = {}, {}, 0, 0, 0
local room = {bytes = REPLY_BYTES}

-- The id of a document whose record and terms are whole; nil: they are not.
local function id_of(number, record, terms)
  local id = record and terms and truth.read_record(record, kinds)
  local count = id and truth.pieces_of(terms)
  return id and (not count or truth.has_pieces(number, count)) and id or nil
end

-- Whether the number that :ids has for an id belongs to another document of that id, not a dead
-- one.
local function is_taken(id, owner)
  local record = owner and redis.call('HGET', DOCS, owner)
  return record and truth.read_record(record, kinds) == id
    and not redis.call('ZSCORE', DEAD, owner)
end

-- Removes the parts of a document that lacks others. Its number becomes free only after the survey
-- of all terms.
local function lose(number, seen)
  if seen.record or seen.terms or seen.lives then
    redis.call('SETBIT', LIVE, number, '0')
    redis.call('HDEL', DOCS, number)
    pieces.erase(FORWARD, number)
    pieces.erase(TEXTS, number)
    local was_found = seen.lives and not seen.is_free
    mended, lost = mended + (was_found and 0 or 1), lost + (was_found and 1 or 0)
  elseif free == '1' and not seen.is_free then
    pieces.erase(TEXTS, number)
    redis.call('SADD', FREE, number)
    mended = mended + 1
  end
end

-- Ends a version whose id belongs to another version. The client clears it later.
local function retire(number)
  redis.call('SETBIT', LIVE, number, '0')
  redis.call('ZADD', DEAD, decimal.whole(clock.us()), number)
  olds[#olds + 1] = number
  mended = mended + 1
end

-- Corrects what the index says about a document, and counts the document.
local function keep(number, id, owner, seen)
  if owner ~= number then
    redis.call('HSET', IDS, id, number)
  end
  if not seen.lives then
    redis.call('SETBIT', LIVE, number, '1')
  end
  if seen.is_free then
    redis.call('SREM', FREE, number)
  end
  if owner ~= number or not seen.lives or seen.is_free then
    mended = mended + 1
  end
  words = words + documents.length_of(seen.record)
  if free ~= '1' then
    room.bytes = room.bytes - #seen.record - #seen.terms
    found[#found + 1] = {number, seen.record, seen.terms}
  end
end

local function look(number, seen)
  local id = id_of(number, seen.record, seen.terms)
  local owner = id and redis.call('HGET', IDS, id)
  if seen.is_dead and not seen.lives then
    return
  elseif seen.is_dead then -- a new version comes alive and is dead no more in one step
    mended = mended + 1
    if owner ~= number then
      redis.call('SETBIT', LIVE, number, '0')
      return
    end
    redis.call('ZREM', DEAD, number)
  end
  if not id or (seen.is_free and not seen.lives and owner ~= number) then
    lose(number, seen)
  elseif owner ~= number and is_taken(id, owner) then
    retire(number)
  else
    keep(number, id, owner, seen)
  end
end

-- Looks at some numbers from `first` on.
local function look_at_some(first, last)
  local numbers = {}
  for number = first, last do
    numbers[#numbers + 1] = decimal.whole(number)
  end
  local records = redis.call('HMGET', DOCS, unpack(numbers))
  local terms = redis.call('HMGET', FORWARD, unpack(numbers))
  local are_free = redis.call('SMISMEMBER', FREE, unpack(numbers))
  local stamps = redis.call('ZMSCORE', DEAD, unpack(numbers))
  for i, number in ipairs(numbers) do
    look(number, {record = records[i], terms = terms[i], is_free = are_free[i] == 1,
                  is_dead = stamps[i] and true or false,
                  lives = redis.call('GETBIT', LIVE, number) == 1})
  end
end

if redis.call('HGET', META, 'token') ~= token then
  return 'stale'
end
documents.check_types()
documents.check_next(0)
if from == 0 and free ~= '1' then
  redis.call('HSET', META, 'check', check, 'counted', '0', 'counted_words', '0')
end
local next_number, current = unpack(redis.call('HMGET', META, 'next', 'check'))
if current ~= check then
  return 'other'
end
next_number = tonumber(next_number or 0)
local began = clock.us()
-- At most next_number / AT_ONCE rounds, which the clock ends earlier.
while from < next_number and room.bytes > 0 and clock.us() - began < STEP_US do
  local last = math.min(from + AT_ONCE, next_number) - 1
  look_at_some(from, last)
  from = last + 1
end
if free ~= '1' then
  redis.call('HINCRBY', META, 'counted_words', words)
  redis.call('HSET', META, 'counted', from < next_number and decimal.whole(from) or ALL)
end
if mended + lost > 0 then
  indexes.change()
end
return {from < next_number and from or -1, olds, found, mended, lost}
