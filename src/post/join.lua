-- post/join: add a member to a chat.
-- KEYS[1...] post    see keys.inc.lua
-- ARGV[1] member
-- ARGV[2] listed    when the chat was put into the member's list
-- ARGV[3] most      members
-- ARGV[4] from      'start': all kept messages; 'end': messages from now on
-- returns code: TKL_NOTFOUND there is no such chat, TKL_EXISTS a member already, TKL_FULL;
--   TKL_CONFLICT too long after `listed`, or the entry in the list was removed
-- include: shared/clock
-- include: keys
-- include: messages
-- include: ages
-- include: joining

now = clock.ms()
local member, listed, most, from = unpack(ARGV)

local mailbag = messages.read()
if not mailbag.exists then
  return TKL_NOTFOUND
elseif redis.call('ZSCORE', READERS, member) then
  return TKL_EXISTS
elseif redis.call('ZCARD', READERS) >= tonumber(most) then
  return TKL_FULL
elseif joining.is_stale(member, listed) then
  return TKL_CONFLICT
end
local position = from == 'start' and ages.first_young(mailbag) - 1 or mailbag.last
redis.call('ZADD', READERS, position, member)
redis.pcall('SPUBLISH', STATE, '')
return TKL_OK
