-- files/time: the clock of the server that has the channel.
-- KEYS[1...] channel  see keys.inc.lua; whether they exist does not matter
-- flags: no-writes
-- returns Unix milliseconds
-- include: shared/clock
-- include: keys

redis.call('EXISTS', STATE)
return clock.ms()
