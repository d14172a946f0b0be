-- session/stats: how much there is.
-- KEYS[1] sessions  hash, see session.c
-- KEYS[2] ends      zset
-- KEYS[3] users     zset
-- KEYS[4] ranking   zset
-- returns {sessions that have not ended, items in the ranking}
local SESSIONS, ENDS, USERS, RANKING = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
-- include: session

return {redis.call('ZCOUNT', ENDS, '(' .. digits(clock_ms()), '+inf'),
        redis.call('ZCARD', RANKING)}
