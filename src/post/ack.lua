-- post/ack: a reader acknowledges all messages up to an id.
-- KEYS[1] state     hash; see post.c for all of them
-- KEYS[2] messages  stream
-- KEYS[3] marks     list
-- KEYS[4] readers   zset
-- ARGV[1] reader
-- ARGV[2] owner     '1': of a mailbox; '0': a member of a chat
-- ARGV[3] id        '': of the last message
-- returns {code, unread, how many kept messages were acknowledged}: TKL_NOTFOUND there is no such
--   chat, or no such message yet; TKL_NOTOWNER the reader is not a member
local STATE, MESSAGES, MARKS, READERS = unpack(KEYS)
-- include: codes
-- include: line
-- include: readers

local reader, is_owner, id = unpack(ARGV)
local line = read_line()
local position = position_of(line, reader, is_owner)
local upto = tonumber(id) or line.last
if not position then
  return {line.exists and NOTOWNER or NOTFOUND}
elseif upto > line.last then
  return {NOTFOUND}
elseif upto <= position then
  return {OK, line.last - position, 0}
end
permit_writes() -- acknowledging is what makes room
redis.call('ZADD', READERS, upto, reader)
if line.ttl < math.huge then -- the first acknowledgement has made the key
  redis.call('PEXPIREAT', READERS, redis.call('PEXPIRETIME', STATE))
end
remove_acknowledged(line)
return {OK, line.last - upto, math.max(0, upto - math.max(position, line.first - 1))}
