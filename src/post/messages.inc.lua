-- Kept messages. `mailbag` is the result of messages.read(): which messages are kept, and limits.
-- See the essay of post.c.
-- include: keys
-- include: shared/decimal

local messages = {}

local FIELDS = {
  'last', 'sent', 'expired', 'max_messages', 'max_bytes', 'max_age', 'ttl', 'drop_oldest',
  'history', 'history_age',
}
local NONE = -1
local DEFAULTS = {
  last = 0, sent = 0, expired = 0, max_messages = TKL__POST_MESSAGES,
  max_bytes = TKL__POST_BYTES, max_age = NONE, ttl = NONE, drop_oldest = 0,
  history = NONE, history_age = NONE,
}

-- Ends the script.
function messages.damaged()
  error({err = 'DAMAGED another program has changed the stored messages'})
end

-- The whole number in a text, `least` or more; anything else ends the script.
function messages.whole(text, least)
  return decimal.read_from(text, least) or messages.damaged()
end

-- The id up to which all readers have acknowledged.
function messages.lowest_position()
  local slowest = redis.call('ZRANGE', READERS, 0, 0, 'WITHSCORES')
  return messages.whole(slowest[2], 0)
end

-- Refuses a mailbox or chat when some of its keys are missing. Messages are removed only when all
-- readers have acknowledged them, or by their age or time to live.
function messages.check_parts(mailbag, kept)
  if (redis.call('EXISTS', READERS) == 1) ~= mailbag.exists then
    messages.damaged()
  end
  local all_gone = kept == 0 and mailbag.last > 0 and
                   math.min(mailbag.max_age, mailbag.ttl) == math.huge
  if all_gone and math.max(messages.lowest_position(), mailbag.expired) < mailbag.last then
    messages.damaged()
  end
end

-- The mailbag, checked: {exists, first, last, sent, max_messages ...}. Messages `first` to `last`
-- are kept; there are none when first is last + 1.
function messages.read()
  local values = redis.call('HMGET', STATE, unpack(FIELDS))
  local mailbag = {exists = values[1] ~= false}
  for i, field in ipairs(FIELDS) do
    local number = messages.whole(values[i] or DEFAULTS[field], NONE)
    mailbag[field] = number == NONE and math.huge or number
  end
  local kept = redis.call('XLEN', MESSAGES)
  if mailbag.last == math.huge or mailbag.sent == math.huge or kept > mailbag.last or
     redis.call('LLEN', MARKS) ~= 2 * kept then
    messages.damaged()
  end
  messages.check_parts(mailbag, kept)
  mailbag.first = mailbag.last - kept + 1
  return mailbag
end

-- Returns the time of a kept message, and how many bytes were sent before it.
function messages.mark_of(mailbag, id)
  local at = 2 * (id - mailbag.first)
  local pair = redis.call('LRANGE', MARKS, at, at + 1)
  return messages.whole(pair[1], 0), messages.whole(pair[2], 0)
end

-- Returns the first kept message for which fits(time, bytes) is true; last + 1 when there is none.
-- Both numbers grow from message to message, so a binary search finds it, in 53 steps at most.
function messages.first_fitting(mailbag, fits)
  local low, high = mailbag.first, mailbag.last + 1
  if low < high and fits(messages.mark_of(mailbag, low)) then
    return low -- the usual case
  end
  while low < high do
    local middle = math.floor((low + high) / 2)
    if fits(messages.mark_of(mailbag, middle)) then
      high = middle
    else
      low = middle + 1
    end
  end
  return low
end

-- Removes the messages before this one.
function messages.remove_before(mailbag, id)
  if id > mailbag.last then
    redis.call('UNLINK', MESSAGES, MARKS)
  elseif id > mailbag.first then
    redis.call('XTRIM', MESSAGES, 'MINID', id)
    redis.call('LTRIM', MARKS, 2 * (id - mailbag.first), -1)
  end
  mailbag.first = math.max(mailbag.first, math.min(id, mailbag.last + 1))
end
