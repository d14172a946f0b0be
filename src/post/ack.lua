-- post/ack: a reader acknowledges all messages up to an id.
-- KEYS[1...] post    see keys.inc.lua
-- ARGV[1] reader
-- ARGV[2] owner     '1': the owner of a mailbox; '0': a member of a chat
-- ARGV[3] id        id of the message; '': the last one
-- flags: allow-oom
-- returns {code, unread, how many unread messages were acknowledged}, {TKL_NOTFOUND, id of the last
--   message} there is no such message yet, {TKL_NOTFOUND} no such chat, {TKL_NOTOWNER} the reader
--   is not a member
-- include: shared/clock
-- include: keys
-- include: messages
-- include: own
-- include: readers

now = clock.ms()
local reader, is_owner, id = unpack(ARGV)

local mailbag = messages.read()
local position = readers.position_of(mailbag, reader, is_owner)
local upto = tonumber(id) or mailbag.last
if not position then
  return {mailbag.exists and TKL_NOTOWNER or TKL_NOTFOUND}
elseif upto > mailbag.last then
  return {TKL_NOTFOUND, mailbag.last}
end
local _, before = readers.unread_behind(mailbag, reader, position)
if upto <= position then
  return {TKL_OK, before, 0}
end
position = own.next_other(mailbag, reader, upto + 1) - 1
local _, after = readers.unread_behind(mailbag, reader, position)
redis.call('ZADD', READERS, position, reader)
own.forget(reader, position)
readers.remove_acknowledged(mailbag)
return {TKL_OK, after, before - after}
