-- The server's clock: `now` in milliseconds, and as text.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local stamp = string.format('%d', now)
