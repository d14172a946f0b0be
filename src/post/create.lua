-- post/create: make a chat with its members.
-- KEYS[1...] post    see keys.inc.lua
-- ARGV[1] request   random, of this request
-- ARGV[2] listed    when the chat was put into the lists of its members; the earliest time
-- ARGV[3...] five limits, each a field and its value, '0' for the default; then the members
-- returns code: TKL_EXISTS; TKL_CONFLICT too long after `listed`
-- include: shared/clock
local now = clock_ms()
-- include: keys
-- include: shared/codes
-- include: line
-- include: lifetime
-- include: joining

local FIRST_LIMIT, LAST_LIMIT = 3, 12 -- of the arguments

local request, listed = ARGV[1], ARGV[2]
if read_line().exists then
  return redis.call('HGET', STATE, 'request') == request and TKL_OK or TKL_EXISTS
elseif is_stale(listed) then
  return TKL_CONFLICT
end
local fields, readers = {'last', 0, 'sent', 0, 'created', now, 'request', request}, {}
for i = FIRST_LIMIT, LAST_LIMIT, 2 do
  local field, value = ARGV[i], ARGV[i + 1]
  if value ~= '0' then
    fields[#fields + 1] = field
    fields[#fields + 1] = value
  end
end
for i = LAST_LIMIT + 1, #ARGV do
  readers[#readers + 1] = 0
  readers[#readers + 1] = ARGV[i]
end
redis.call('HSET', STATE, unpack(fields))
redis.call('ZADD', READERS, unpack(readers))
redis.call('UNLINK', RECENT)
expire(read_line())
redis.pcall('SPUBLISH', STATE, '')
return TKL_OK
