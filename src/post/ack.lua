-- post/ack: a reader acknowledges all messages up to an id.
-- KEYS[1...] post    see keys.inc.lua
-- ARGV[1] reader
-- ARGV[2] owner     '1': of a mailbox; '0': a member of a chat
-- ARGV[3] id        '': of the last message
-- flags: allow-oom
-- returns {code, unread, how many of the unread were acknowledged}, {TKL_NOTFOUND, id of the last
--   message} there is no such message yet, {TKL_NOTFOUND} no such chat, {TKL_NOTOWNER} the reader
--   is not a member
-- include: shared/clock
-- include: keys
-- include: messages
-- include: ages
-- include: readers

now = clock.ms()
local reader, is_owner, id = unpack(ARGV)

-- The number of messages behind this position that are kept and not too old.
local function unread_behind(line, position)
  return line.last - math.max(position, ages.first_young(line) - 1)
end

local line = messages.read()
local position = readers.position_of(line, reader, is_owner)
local upto = tonumber(id) or line.last
if not position then
  return {line.exists and TKL_NOTOWNER or TKL_NOTFOUND}
elseif upto > line.last then
  return {TKL_NOTFOUND, line.last}
end
local before = unread_behind(line, position)
if upto <= position then
  return {TKL_OK, before, 0}
end
local after = unread_behind(line, upto)
redis.call('ZADD', READERS, upto, reader)
readers.remove_acknowledged(line)
return {TKL_OK, after, before - after}
