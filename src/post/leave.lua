-- post/leave: remove a member from a chat; the last one removes the chat.
-- KEYS[1...] post    see keys.inc.lua
-- ARGV[1] member
-- flags: allow-oom
-- returns code: TKL_NOTFOUND there is no such chat, TKL_NOTOWNER not a member
-- include: shared/clock
-- include: keys
-- include: messages
-- include: own
-- include: readers

now = clock.ms()
local member = ARGV[1]

local mailbag = messages.read()
if not mailbag.exists then
  return TKL_NOTFOUND
elseif redis.call('ZREM', READERS, member) == 0 then
  return TKL_NOTOWNER
end
if redis.call('EXISTS', READERS) == 0 then
  redis.call('UNLINK', STATE, MESSAGES, MARKS, READERS, RECENT)
  own.forget_all()
else
  own.forget(member, mailbag.last)
  readers.remove_acknowledged(mailbag)
end
redis.pcall('SPUBLISH', STATE, '') -- the removed member may be waiting
return TKL_OK
