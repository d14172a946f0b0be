-- The server's clock: microseconds in sixteen digits.

local time = redis.call('TIME')
local stamp = time[1] .. time[2]
if #stamp < 16 then
  stamp = string.format('%010d%06d', time[1], time[2])
end
