-- chat/list: the chats of a member.
-- KEYS[1] list  zset; see chat/enlist
-- returns {now in milliseconds, {chat, time, chat, time ...}}

local list = KEYS[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
return {now, redis.call('ZRANGE', list, 0, -1, 'WITHSCORES')}
