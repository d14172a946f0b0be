-- Documents: numbers that begin, live and die. A number in :dead is none of any result; whoever has
-- its stamp may go on with it.
-- include: shared/clock
-- include: postings

local LEFT_BEHIND_US = 60 * 1000000 -- a number that is dead for so long was left by a dead writer
-- Bytes of old versions that one reply takes along; the client asks for the others.
local REPLY_BYTES = 256 * 1024

-- Before the first write: an error now when one of the keys is of another type.
local function check_types()
  redis.call('HLEN', IDS)
  redis.call('HLEN', DOCS)
  redis.call('HLEN', FORWARD)
  redis.call('HLEN', TEXTS)
  redis.call('STRLEN', LIVE)
  redis.call('ZCARD', DEAD)
  redis.call('SCARD', FREE)
  redis.call('ZCARD', TERMS)
  redis.call('HLEN', COMMON)
  redis.call('HLEN', SHOWN)
end

-- Numbers from here on have no bit in a bitmap of the server. Beyond 2^53 a loop would not end.
local NUMBERS_MAX = 2 ^ 32

local function check_next(count)
  local next = tonumber(redis.call('HGET', META, 'next') or 0)
  if not next or next % 1 ~= 0 or next < 0 or next + count > NUMBERS_MAX then
    error({err = 'DAMAGED the next number of the index was not written by tackle'})
  end
end

-- Before the first write: an error when an id has a number that was never given away.
local function check_number_of(id)
  local number = redis.call('HGET', IDS, id)
  local next = tonumber(number and redis.call('HGET', META, 'next') or 0)
  if number and not (string.find(number, '^%d+$') and next and tonumber(number) < next) then
    error({err = 'DAMAGED the number of a document was not written by tackle'})
  end
end

-- Numbers that nobody has: those that were given back first. The first write of a script is the one
-- that the server refuses when it is out of memory; SPOP it would not.
local function take_numbers(count)
  check_next(count)
  local missing = math.max(0, count - redis.call('SCARD', FREE))
  local next = redis.call('HINCRBY', META, 'next', missing)
  local numbers = missing < count and redis.call('SPOP', FREE, count - missing) or {}
  for i = next - missing, next - 1 do
    numbers[#numbers + 1] = text_of(i)
  end
  return numbers
end

local function length_of(record)
  local length = struct.unpack('>I4', record)
  return length
end

-- What must be known of a dead number to take it out: {number, stamp, record, terms}; only {number,
-- stamp} when `room` has no bytes left.
local function old_version(number, stamp, record, room)
  if room.bytes <= 0 then
    return {number, stamp}
  end
  local terms = redis.call('HGET', FORWARD, number) or ''
  room.bytes = room.bytes - #terms
  return {number, stamp, record or '', terms}
end

-- The version of an id ends: it is found no more.
local function die(number, stamp, room)
  local record = redis.call('HGET', DOCS, number)
  redis.call('SETBIT', LIVE, number, '0')
  redis.call('ZADD', DEAD, text_of(stamp), number)
  if record then
    redis.call('HINCRBY', META, 'words', 0 - length_of(record))
  end
  return old_version(number, text_of(stamp), record, room)
end

-- New versions of these ids begin. Returns the old ones, as die() does.
local function come_alive(numbers, ids, records, stamp)
  local olds, entries, words, dead = redis.call('HMGET', IDS, unpack(ids)), {}, 0, {}
  local room = {bytes = REPLY_BYTES}
  for i, number in ipairs(numbers) do
    entries[2 * i - 1], entries[2 * i] = ids[i], number
    words = words + length_of(records[i])
  end
  redis.call('HSET', IDS, unpack(entries))
  redis.call('HINCRBY', META, 'words', words)
  for i, number in ipairs(numbers) do
    redis.call('SETBIT', LIVE, number, '1')
    if olds[i] then
      dead[#dead + 1] = die(olds[i], stamp, room)
    end
  end
  redis.call('HINCRBY', META, 'docs', #numbers - #dead)
  return dead
end

-- Up to when a dead number was left behind, for ZCOUNT and ZRANGE BYSCORE.
local function left_behind(now)
  return text_of(now - LEFT_BEHIND_US)
end

-- How many numbers writers before left behind.
local function count_left(now)
  return redis.call('ZCOUNT', DEAD, '-inf', left_behind(now))
end
