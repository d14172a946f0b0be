-- post/limit: change the limits.
-- KEYS[1] state     hash; see post.c for all of them
-- KEYS[2] messages  stream
-- KEYS[3] marks     list
-- KEYS[4] readers   zset
-- ARGV[1] open      '1': the line need not exist
-- ARGV[2...] pairs of a field and its value; '0' is the default
-- returns code: TKL_NOTFOUND there is no such chat
-- include: clock
local now = server_time()
local STATE, MESSAGES, MARKS, READERS = unpack(KEYS)
-- include: codes
-- include: line
-- include: lifetime

local before = read_line()
if ARGV[1] == '0' and not before.exists then
  return NOTFOUND
end
permit_writes() -- a lower limit is what a full server needs
if not before.exists then
  redis.call('HSET', STATE, 'last', 0, 'sent', 0) -- it is more than a visit from now on
end
for i = 2, #ARGV, 2 do
  if ARGV[i + 1] == '0' then
    redis.call('HDEL', STATE, ARGV[i])
  else
    redis.call('HSET', STATE, ARGV[i], ARGV[i + 1])
  end
end
for _, key in ipairs(KEYS) do
  redis.call('PERSIST', key)
end
expire(read_line())
return OK
