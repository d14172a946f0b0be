-- post/create: make a chat with its members.
-- KEYS[1...] post    see keys.inc.lua
-- ARGV[1] request   random, of this request
-- ARGV[2...] five limits, each a field and its value, '0' for the default; then the members, each
--   followed by the time at which the chat was put into its list
-- returns code: TKL_EXISTS; TKL_CONFLICT too long after such a time, or the entry was removed
-- include: shared/clock
-- include: keys
-- include: messages
-- include: lifetime
-- include: joining

now = clock.ms()
local FIRST_LIMIT, LAST_LIMIT = 2, 11 -- indexes in ARGV
local request = ARGV[1]

if messages.read().exists then
  return redis.call('HGET', STATE, 'request') == request and TKL_OK or TKL_EXISTS
end
local fields = {'last', 0, 'sent', 0, 'created', now, 'request', request}
local members, listed, readers = {}, {}, {}
for i = FIRST_LIMIT, LAST_LIMIT, 2 do
  local field, value = ARGV[i], ARGV[i + 1]
  if value ~= '0' then
    fields[#fields + 1] = field
    fields[#fields + 1] = value
  end
end
for i = LAST_LIMIT + 1, #ARGV, 2 do
  local member = ARGV[i]
  members[#members + 1], listed[#listed + 1] = member, ARGV[i + 1]
  readers[#readers + 1] = 0
  readers[#readers + 1] = member
end
if joining.is_any_stale(members, listed) then
  return TKL_CONFLICT
end
redis.call('HSET', STATE, unpack(fields))
redis.call('ZADD', READERS, unpack(readers))
redis.call('UNLINK', RECENT)
lifetime.expire(messages.read(), '')
redis.pcall('SPUBLISH', STATE, '')
return TKL_OK
