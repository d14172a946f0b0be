-- session/stats: count sessions and items.
-- KEYS[1...] store  see keys.inc.lua
-- flags: no-writes
-- returns {sessions that have not ended, items in the ranking}
-- include: keys
-- include: sessions

return {redis.call('ZCOUNT', ENDS, '(' .. decimal.whole(clock.ms()), '+inf'),
        redis.call('ZCARD', RANKING)}
