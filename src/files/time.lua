-- files/time: the clock of the server that has the channel.
-- KEYS[1] state  hash; whether it exists does not matter
-- returns Unix milliseconds
-- include: shared/clock
local STATE = KEYS[1]
redis.call('EXISTS', STATE)
return clock_ms()
