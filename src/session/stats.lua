-- session/stats: how much there is.
-- KEYS[1...] store  see keys.inc.lua
-- returns {sessions that have not ended, items in the ranking}
-- include: keys
-- include: session

return {redis.call('ZCOUNT', ENDS, '(' .. digits(clock_ms()), '+inf'),
        redis.call('ZCARD', RANKING)}
