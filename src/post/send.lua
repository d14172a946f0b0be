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
-- include: letters
-- include: lifetime
-- include: own
-- include: history
-- include: readers

now = clock.ms()
local REMEMBERED = 20000 -- requests
local REMEMBERED_MS = 60000 -- at least, and as long as a request may be repeated
local FIRST_LETTER = 6 -- index in ARGV
local PARTS = 3 -- fields of a remembered request: itself, the id of its first message, the time
local request, again, window, owner, sender = unpack(ARGV, 1, FIRST_LETTER - 1)
window = tonumber(window)

-- Returns the first id that an earlier attempt of this request got; nil: it was not executed.
local function earlier_id()
  local at = redis.call('LPOS', RECENT, request, 'RANK', -1)
  return at and tonumber(redis.call('LINDEX', RECENT, at + 1))
end

-- Whether requests of the time when this one began are forgotten: too many others came after them.
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

-- Makes the messages count as read by their sender: by its position if it has acknowledged all
-- messages before, else as its own messages.
local function note_own(mailbag, position, first)
  own.forget(sender, mailbag.first - 1)
  if position == first - 1 then
    redis.call('ZADD', READERS, mailbag.last, sender)
  else
    own.add(sender, first, mailbag.last)
  end
end

local mailbag = messages.read()
if again == '1' then
  local id = earlier_id()
  if id then
    return {TKL_OK, id}
  elseif is_forgotten() then
    return {TKL_EUNKNOWN}
  end
end
local position
if owner == '' then
  position = readers.position_of(mailbag, sender, '0')
  if not position then
    return {mailbag.exists and TKL_NOTOWNER or TKL_NOTFOUND}
  end
end
local all, bytes = letters.read(ARGV, FIRST_LETTER, sender)
local kept_from = letters.make_room(mailbag, #all, bytes)
if not kept_from then
  return {TKL_FULL}
end
redis.call('LLEN', RECENT) -- fails before the first write if the key has another type

local first = letters.store(mailbag, all, bytes, kept_from)
if not mailbag.exists then
  redis.call('ZADD', READERS, 0, owner)
end
if position then
  note_own(mailbag, position, first)
end
history.stay(mailbag)
lifetime.expire(mailbag, owner)
if position then
  readers.remove_acknowledged(mailbag)
end
remember(first)
letters.publish(all, bytes, first)
return {TKL_OK, first}
