-- channel/show: a channel as operators see it.
-- KEYS[1...] channel  see keys.inc.lua
-- flags: no-writes
-- returns {life or '', ms and number of the newest message ever published, messages in the history,
--   id of the oldest one or '', ms until the history expires, subscribed clients}
-- include: keys

local ms, number, life = keys.newest()
local oldest = redis.call('XRANGE', HISTORY, '-', '+', 'COUNT', 1)[1]
local listeners = redis.call('PUBSUB', 'SHARDNUMSUB', STATE)
return {life or '', ms, number, redis.call('XLEN', HISTORY), oldest and oldest[1] or '',
        redis.call('PTTL', HISTORY), listeners[2]}
