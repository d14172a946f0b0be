-- chat/list: the chats of a member.
-- KEYS[1] list  zset; see chat/enlist
-- flags: no-writes
-- returns {now in milliseconds, {chat, time, chat, time ...}}
-- include: shared/clock

local list = KEYS[1]

return {clock.ms(), redis.call('ZRANGE', list, 0, -1, 'WITHSCORES')}
