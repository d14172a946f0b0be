-- The line of kept messages and its limits, read once. See the essay of post.c.
-- include: keys
-- include: shared/exact

local FIELDS = {
  'last', 'sent', 'expired', 'max_messages', 'max_bytes', 'max_age', 'ttl', 'drop_oldest',
}
local NONE = -1
local DEFAULTS = {
  last = 0, sent = 0, expired = 0, max_messages = 10000, max_bytes = 100 * 1048576, max_age = NONE,
  ttl = NONE, drop_oldest = 0,
}

local function damaged()
  error({err = 'DAMAGED another program has changed the stored messages'})
end

-- A whole number from `least` to EXACT, or an error.
local function whole(text, least)
  local number = tonumber(text)
  if not number or number < least or number > EXACT or number % 1 ~= 0 then
    damaged()
  end
  return number
end

-- The id up to which all readers have acknowledged.
local function lowest_position()
  local slowest = redis.call('ZRANGE', READERS, 0, 0, 'WITHSCORES')
  return whole(slowest[2], 0)
end

-- Keys that belong together are there together. Messages are gone when all have acknowledged them,
-- or with their age, and for no other reason.
local function check_parts(line, kept)
  if (redis.call('EXISTS', READERS) == 1) ~= line.exists then
    damaged()
  end
  local all_gone = kept == 0 and line.last > 0 and line.max_age == math.huge
  if all_gone and math.max(lowest_position(), line.expired) < line.last then
    damaged()
  end
end

-- Everything that the scripts need to know, checked: {exists, first, last, sent, max_messages ...}.
-- Kept are the messages first to last; there are none when first is last + 1.
local function read_line()
  local values = redis.call('HMGET', STATE, unpack(FIELDS))
  local line = {exists = values[1] ~= false}
  for i, field in ipairs(FIELDS) do
    local number = whole(values[i] or DEFAULTS[field], NONE)
    line[field] = number == NONE and math.huge or number
  end
  local kept = redis.call('XLEN', MESSAGES)
  if line.last == math.huge or line.sent == math.huge or kept > line.last or
     redis.call('LLEN', MARKS) ~= 2 * kept then
    damaged()
  end
  check_parts(line, kept)
  line.first = line.last - kept + 1
  return line
end

-- The time of a kept message, and how many bytes were sent before it.
local function mark_of(line, id)
  local at = 2 * (id - line.first)
  local pair = redis.call('LRANGE', MARKS, at, at + 1)
  return whole(pair[1], 0), whole(pair[2], 0)
end

-- The first kept message for which fits(time, bytes) holds; last + 1 when there is none. Both grow
-- from message to message, so that a binary search finds it, in 53 steps at most.
local function first_fitting(line, fits)
  local low, high = line.first, line.last + 1
  if low < high and fits(mark_of(line, low)) then
    return low -- the usual case
  end
  while low < high do
    local middle = math.floor((low + high) / 2)
    if fits(mark_of(line, middle)) then
      high = middle
    else
      low = middle + 1
    end
  end
  return low
end

-- Removes the messages before this one.
local function remove_before(line, id)
  if id > line.last then
    redis.call('UNLINK', MESSAGES, MARKS)
  elseif id > line.first then
    redis.call('XTRIM', MESSAGES, 'MINID', id)
    redis.call('LTRIM', MARKS, 2 * (id - line.first), -1)
  end
end

-- A write that a server without free memory permits. It then permits those that follow, too.
local function permit_writes()
  redis.call('HDEL', STATE, '')
end
