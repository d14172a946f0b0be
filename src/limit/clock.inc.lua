-- The server's clock, in microseconds.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local OTHER = 'WRONGTYPE the key is in use by another kind of limit'
