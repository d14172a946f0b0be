-- Documents: numbers that begin, live and die. A number in :dead is in no result; the writer that
-- has its stamp may go on with it.
-- include: shared/clock
-- include: shared/decimal
-- include: shared/types
-- include: postings

local documents = {}

local LEFT_BEHIND_US = 60 * 1000000 -- a number that is dead this long: its writer was killed
-- Bytes of old versions in one reply; the client asks for further ones.
local REPLY_BYTES = 256 * 1024
-- The server's bitmaps have no bits for numbers from here on, and a loop beyond 2^53 would not end.
local NUMBERS_MAX = 2 ^ 32

-- Checks the types of all keys.
function documents.check_types()
  types.check_hashes(IDS, DOCS, FORWARD, TEXTS, COMMON)
  types.check_zsets(DEAD, TERMS)
  redis.call('STRLEN', LIVE)
  redis.call('SCARD', FREE)
end

-- Rejects a next number that another program has written.
function documents.check_next(count)
  local next = tonumber(redis.call('HGET', META, 'next') or 0)
  if not next or next % 1 ~= 0 or next < 0 or next + count > NUMBERS_MAX then
    error({err = 'DAMAGED the next number of the index was not written by tackle'})
  end
end

-- Rejects an id whose number was never given to a document.
function documents.check_number_of(id)
  local number = redis.call('HGET', IDS, id)
  local next = tonumber(number and redis.call('HGET', META, 'next') or 0)
  if number and not (string.find(number, '^%d+$') and next and tonumber(number) < next) then
    error({err = 'DAMAGED the number of a document was not written by tackle'})
  end
end

-- Takes numbers that no document uses. Freed numbers come first.
function documents.take_numbers(count)
  documents.check_next(count)
  local missing = math.max(0, count - redis.call('SCARD', FREE))
  local next = redis.call('HINCRBY', META, 'next', missing)
  local numbers = missing < count and redis.call('SPOP', FREE, count - missing) or {}
  for i = next - missing, next - 1 do
    numbers[#numbers + 1] = decimal.whole(i)
  end
  return numbers
end

-- The number of words of a document, read from its record.
function documents.length_of(record)
  local length = struct.unpack('>I4', record)
  return length
end

-- Adds to the number of words of all documents. A check counts them again: `counted_words` is the
-- number of words of the documents whose numbers are below `counted`.
function documents.add_words(number, words)
  redis.call('HINCRBY', META, 'words', words)
  local counted = redis.call('HGET', META, 'counted')
  if counted and tonumber(number) < tonumber(counted) then
    redis.call('HINCRBY', META, 'counted_words', words)
  end
end

-- The data that a client needs to clear a dead number: {number, stamp, record, terms}; only
-- {number, stamp} when `room` has no bytes left.
function documents.old_version(number, stamp, record, room)
  if room.bytes <= 0 then
    return {number, stamp}
  end
  local terms = redis.call('HGET', FORWARD, number) or ''
  room.bytes = room.bytes - #terms
  return {number, stamp, record or '', terms}
end

-- Ends the version of a document that has this number: queries no longer find it. Returns the old
-- version.
function documents.die(number, stamp, room)
  local record = redis.call('HGET', DOCS, number)
  redis.call('SETBIT', LIVE, number, '0')
  redis.call('ZADD', DEAD, decimal.whole(stamp), number)
  if record then
    documents.add_words(number, 0 - documents.length_of(record))
  end
  return documents.old_version(number, decimal.whole(stamp), record, room)
end

-- Starts new versions of these ids. Returns the old versions, as documents.die() does.
function documents.come_alive(numbers, ids, records, stamp)
  local olds, entries, dead = redis.call('HMGET', IDS, unpack(ids)), {}, {}
  local room = {bytes = REPLY_BYTES}
  for i, number in ipairs(numbers) do
    entries[2 * i - 1], entries[2 * i] = ids[i], number
  end
  redis.call('HSET', IDS, unpack(entries))
  for i, number in ipairs(numbers) do
    documents.add_words(number, documents.length_of(records[i]))
    redis.call('SETBIT', LIVE, number, '1')
    if olds[i] then
      dead[#dead + 1] = documents.die(olds[i], stamp, room)
    end
  end
  redis.call('HINCRBY', META, 'docs', #numbers - #dead)
  return dead
end

-- The greatest stamp of the dead numbers that count as left behind.
function documents.left_behind(now)
  return now - LEFT_BEHIND_US
end

-- How many numbers killed writers left behind.
function documents.count_left(now)
  return redis.call('ZCOUNT', DEAD, '-inf', decimal.whole(documents.left_behind(now)))
end
