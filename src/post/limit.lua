-- post/limit: change the limits.
-- KEYS[1...] post    see keys.inc.lua
-- ARGV[1] owner     of a mailbox, which need not exist; '': a chat
-- ARGV[2...] pairs of a field and its value; '0' is the default
-- returns code: TKL_NOTFOUND there is no such chat
-- include: shared/clock
local now = clock_ms()
-- include: keys
-- include: shared/codes
-- include: line
-- include: lifetime

local FIRST_LIMIT = 2 -- of the arguments
local owner, before = ARGV[1], read_line()
if owner == '' and not before.exists then
  return TKL_NOTFOUND
end
permit_writes() -- a lower limit is what a full server needs
if not before.exists then
  redis.call('HSET', STATE, 'last', 0, 'sent', 0) -- it is more than a visit from now on
  redis.call('ZADD', READERS, 0, owner)
elseif before.first > before.last then
  redis.call('HSET', STATE, 'expired', before.last) -- the new limits may not explain it
end
for i = FIRST_LIMIT, #ARGV, 2 do
  local field, value = ARGV[i], ARGV[i + 1]
  if value == '0' then
    redis.call('HDEL', STATE, field)
  else
    redis.call('HSET', STATE, field, value)
  end
end
for _, key in ipairs({STATE, MESSAGES, MARKS, READERS}) do
  redis.call('PERSIST', key)
end
expire(read_line())
return TKL_OK
