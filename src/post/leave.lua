-- post/leave: remove a member from a chat; the last one removes the chat.
-- KEYS[1...] post    see keys.inc.lua
-- ARGV[1] member
-- flags: allow-oom
-- returns code: TKL_NOTFOUND there is no such chat, TKL_NOTOWNER not a member
-- include: keys
-- include: messages
-- include: readers

local member = ARGV[1]

local line = messages.read()
if not line.exists then
  return TKL_NOTFOUND
elseif redis.call('ZREM', READERS, member) == 0 then
  return TKL_NOTOWNER
end
if redis.call('EXISTS', READERS) == 0 then
  redis.call('UNLINK', STATE, MESSAGES, MARKS, READERS, RECENT)
else
  readers.remove_acknowledged(line)
end
redis.pcall('SPUBLISH', STATE, '') -- the removed member may be waiting
return TKL_OK
