-- post/ack: a reader acknowledges all messages up to an id.
-- KEYS[1...] post    see keys.inc.lua
-- ARGV[1] reader
-- ARGV[2] owner     '1': of a mailbox; '0': a member of a chat
-- ARGV[3] id        '': of the last message
-- returns {code, unread, how many of the unread were acknowledged}, {TKL_NOTFOUND, id of the last
--   message} there is no such message yet, {TKL_NOTFOUND} no such chat, {TKL_NOTOWNER} the reader is
--   not a member
-- include: shared/clock
local now = clock_ms()
-- include: keys
-- include: shared/codes
-- include: line
-- include: age
-- include: readers

-- How many messages are kept, not too old, and behind this position.
local function unread_behind(line, position)
  return line.last - math.max(position, first_young(line) - 1)
end

local reader, is_owner, id = unpack(ARGV)
local line = read_line()
local position = position_of(line, reader, is_owner)
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
permit_writes() -- acknowledging is what makes room
redis.call('ZADD', READERS, upto, reader)
remove_acknowledged(line)
return {TKL_OK, after, before - after}
