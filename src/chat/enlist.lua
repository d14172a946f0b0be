-- chat/enlist: put a chat into the list of a member who is about to be added to it.
-- KEYS[1] list  zset of chats by the time at which they were put here last; see chat.c
-- ARGV[1] chat
-- returns that time, in milliseconds

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.pcall('SPUBLISH', KEYS[1], '')
return now
