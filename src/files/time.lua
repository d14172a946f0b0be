-- files/time: the clock of the server that has the channel.
-- KEYS[1] state  hash; whether it exists does not matter
-- returns Unix milliseconds
-- include: clock
redis.call('EXISTS', KEYS[1])
return server_time()
