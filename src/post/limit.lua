-- post/limit: change the limits.
-- KEYS[1...] post    see keys.inc.lua
-- ARGV[1] owner     of a mailbox, which need not exist; '': a chat
-- ARGV[2...] pairs of a field and its value; '0' is the default
-- flags: allow-oom
-- returns code: TKL_NOTFOUND there is no such chat
-- include: shared/clock
-- include: keys
-- include: messages
-- include: lifetime
-- include: own
-- include: readers

now = clock.ms()
local FIRST_LIMIT = 2 -- index in ARGV
local owner = ARGV[1]

local before = messages.read()
if owner == '' and not before.exists then
  return TKL_NOTFOUND
end
if not before.exists then
  redis.call('HSET', STATE, 'last', 0, 'sent', 0)
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
own.persist()
local mailbag = messages.read()
lifetime.expire(mailbag, owner)
readers.remove_acknowledged(mailbag)
return TKL_OK
