-- post/send: add messages, all or none.
-- KEYS[1...] post    see keys.inc.lua
-- ARGV[1] request   random, of this request
-- ARGV[2] again     '1': the request may have been executed already
-- ARGV[3] window    milliseconds for which it may be repeated, from its beginning
-- ARGV[4] owner     of a mailbox, to which everybody may send; '': a chat, readers only
-- ARGV[5] sender
-- ARGV[6...] letters: the body, the number of words in the headers, and these words
-- returns {code, id of the first}: TKL_NOTFOUND there is no such chat, TKL_NOTOWNER the sender is
--   not a member, TKL_FULL; TKL_EUNKNOWN it cannot be said whether it was executed already
-- include: shared/clock
-- include: keys
-- include: messages
-- include: ages
-- include: lifetime

now = clock.ms()
local REMEMBERED = 20000 -- requests
local REMEMBERED_MS = 60000 -- at least, and as long as a request may be repeated
local NOTE_BYTES = 200 -- longest message to publish; more may pile up for a slow subscriber
local FIRST_LETTER = 6 -- index in ARGV
local PARTS = 3 -- of a remembered request: itself, the id of its first message, the time
local request, again, window, owner, sender = unpack(ARGV, 1, FIRST_LETTER - 1)
window = tonumber(window)

-- The id that an earlier attempt of this request got; nil: it was not executed.
local function earlier_id()
  local at = redis.call('LPOS', RECENT, request, 'RANK', -1)
  return at and tonumber(redis.call('LINDEX', RECENT, at + 1))
end

-- Whether so many requests came meanwhile that those of this time are forgotten.
local function is_forgotten()
  local oldest = redis.call('LLEN', RECENT) >= PARTS * REMEMBERED and
                 redis.call('LINDEX', RECENT, PARTS - 1)
  return oldest and tonumber(oldest) > now - window
end

-- Remembers the request, with the id of its first message, for as long as it may be repeated.
local function remember(first)
  local wanted = math.max(window, REMEMBERED_MS)
  redis.call('RPUSH', RECENT, request, first, now)
  redis.call('LTRIM', RECENT, -PARTS * REMEMBERED, -1)
  if redis.call('PTTL', RECENT) < wanted then
    redis.call('PEXPIRE', RECENT, 2 * wanted) -- so that the next messages need not set it
  end
end

-- Returns the letters, {sender, body, headers, start}, where start is the bytes of the letters
-- before; and the bytes of all.
local function read_letters()
  local letters, bytes, at = {}, 0, FIRST_LETTER
  while ARGV[at] do
    local body, header_end = ARGV[at], at + 1 + ARGV[at + 1]
    local letter = {sender = sender, body = body, headers = {unpack(ARGV, at + 2, header_end)},
                    start = bytes}
    bytes = bytes + #sender + #body
    for _, word in ipairs(letter.headers) do
      bytes = bytes + #word
    end
    letters[#letters + 1] = letter
    at = header_end + 1
  end
  return letters, bytes
end

-- The first message to keep when these are added; nil: there is no room.
local function make_room(line, count, bytes)
  local young = ages.first_young(line)
  local least = line.sent + bytes - line.max_bytes
  local roomy = messages.first_fitting(line, function(_, start)
    return start >= least
  end)
  roomy = math.max(roomy, line.last + count - line.max_messages + 1)
  local too_large = count > line.max_messages or bytes > line.max_bytes
  if too_large or roomy > young and line.drop_oldest == 0 then
    return nil
  end
  return math.max(roomy, young)
end

-- The notification for waiters: the message itself, if it is alone and small, so that they need no
-- round trip. "<id> <time> <length of each word>\n" and the words: sender, body, headers.
local function note_of(letters, bytes, id)
  if #letters > 1 or bytes > NOTE_BYTES then
    return ''
  end
  local letter = letters[1]
  local words = {letter.sender, letter.body, unpack(letter.headers)}
  local numbers = {string.format('%d %d', id, now)}
  for i, word in ipairs(words) do
    numbers[i + 1] = #word
  end
  return table.concat(numbers, ' ') .. '\n' .. table.concat(words)
end

-- Stores the letters behind the last message.
local function add(line, letters)
  local marks = {}
  for i, letter in ipairs(letters) do
    redis.call('XADD', MESSAGES, line.last + i, 'sender', letter.sender, 'body', letter.body,
               unpack(letter.headers))
    marks[2 * i - 1] = now
    marks[2 * i] = line.sent + letter.start
  end
  redis.call('RPUSH', MARKS, unpack(marks))
end

local line = messages.read()
if again == '1' then
  local id = earlier_id()
  if id then
    return {TKL_OK, id}
  elseif is_forgotten() then
    return {TKL_EUNKNOWN}
  end
end
if owner == '' then
  if not line.exists then
    return {TKL_NOTFOUND}
  elseif not redis.call('ZSCORE', READERS, sender) then
    return {TKL_NOTOWNER}
  end
end
local letters, bytes = read_letters()
local kept_from = make_room(line, #letters, bytes)
if not kept_from then
  return {TKL_FULL}
end
redis.call('LLEN', RECENT) -- fails before the first write if the key has another type

add(line, letters)
local first = line.last + 1
line.last = line.last + #letters
messages.remove_before(line, kept_from)
redis.call('HSET', STATE, 'last', line.last, 'sent', line.sent + bytes)
if not line.exists then
  redis.call('ZADD', READERS, 0, owner)
end
remember(first)
lifetime.expire(line, owner)
-- When the sender may not publish, no waiter wakes up, but the message is sent.
redis.pcall('SPUBLISH', STATE, note_of(letters, bytes, first))
return {TKL_OK, first}
