-- post/create: make a chat with its members and its first messages.
-- KEYS[1...] post    see keys.inc.lua
-- ARGV[1] request   random, of this request
-- ARGV[2] sender    of the messages
-- ARGV[3] count     of members
-- ARGV[4...] seven limits, each a field and its value, '0' for the default; the members, each
--   followed by the time at which the chat was put into its list; letters: see post/send
-- returns code: TKL_EXISTS; TKL_CONFLICT too long after the time of an entry, or an entry was
--   removed; TKL_NOTOWNER the sender is not a member, TKL_FULL the limits have no room for the
--   messages
-- include: shared/clock
-- include: keys
-- include: messages
-- include: letters
-- include: lifetime
-- include: own
-- include: readers
-- include: joining

now = clock.ms()
local FIRST_LIMIT, FIRST_MEMBER = 4, 18 -- indexes in ARGV
local request, sender, count = unpack(ARGV, 1, FIRST_LIMIT - 1)
local first_letter = FIRST_MEMBER + 2 * count

if messages.read().exists then
  return redis.call('HGET', STATE, 'request') == request and TKL_OK or TKL_EXISTS
end
local fields = {'last', 0, 'sent', 0, 'created', now, 'request', request}
local members, listed, positions = {}, {}, {}
local all, bytes = letters.read(ARGV, first_letter, sender)
local may_send = #all == 0
for i = FIRST_LIMIT, FIRST_MEMBER - 1, 2 do
  local field, value = ARGV[i], ARGV[i + 1]
  if value ~= '0' then
    fields[#fields + 1] = field
    fields[#fields + 1] = value
  end
end
for i = FIRST_MEMBER, first_letter - 1, 2 do
  local member = ARGV[i]
  members[#members + 1], listed[#listed + 1] = member, ARGV[i + 1]
  positions[#positions + 1] = member == sender and #all or 0
  positions[#positions + 1] = member
  may_send = may_send or member == sender
end
if not may_send then
  return TKL_NOTOWNER
elseif joining.is_any_stale(members, listed) then
  return TKL_CONFLICT
end
redis.call('HSET', STATE, unpack(fields))
redis.call('ZADD', READERS, unpack(positions))
redis.call('UNLINK', RECENT)
own.forget_all()
local mailbag = messages.read()
if #all > 0 then
  local kept_from = letters.make_room(mailbag, #all, bytes)
  if not kept_from then
    redis.call('UNLINK', STATE, READERS)
    return TKL_FULL
  end
  letters.store(mailbag, all, bytes, kept_from)
  readers.remove_acknowledged(mailbag) -- if there is no other member
end
lifetime.expire(mailbag, '')
redis.pcall('SPUBLISH', STATE, '')
return TKL_OK
