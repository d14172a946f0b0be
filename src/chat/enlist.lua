-- chat/enlist: put a chat into the list of a member that is being added to the chat.
-- KEYS[1] list  zset of chats by the time at which they were put here last, in microseconds; see
--   chat.c
-- ARGV[1] chat
-- ARGV[2] most  chats in the list
-- returns {code, that time, 1 if the chat was not in the list}: TKL_FULL
-- include: shared/clock

local FOREVER = 2 ^ 52
local list, chat, most = KEYS[1], ARGV[1], tonumber(ARGV[2])

-- No two times are alike, also when the chat was removed from the list in between: see chat/unlist.
-- A call takes the server more than a microsecond.
local listed = clock.us()
local before = tonumber(redis.call('ZSCORE', list, chat) or nil)
if not before and redis.call('ZCARD', list) >= most then
  return {TKL_FULL}
elseif before and before < FOREVER then
  listed = math.max(listed, before + 1)
end
redis.call('ZADD', list, listed, chat)
if not before then
  redis.pcall('SPUBLISH', list, '') -- else the chat's own channel announces it
end
return {TKL_OK, listed, before and 0 or 1}
