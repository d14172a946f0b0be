-- The server's clock, as a number of microseconds and as sixteen digits.

local time = redis.call('TIME')
local stamp = time[1] .. string.sub('000000' .. time[2], -6)
local now = tonumber(stamp)

-- How long fences are remembered after the last lease, in milliseconds.
local LINGER = 60000
-- How long the line is, after the last came to it.
local QUEUE_MS = 900000

local function text(number)
  return string.format('%d', number)
end

-- The next fence: ahead of the last, even where the clock was set back.
local function next_fence(last)
  if last and tonumber(last) >= now then
    return text(last + 1)
  end
  return stamp
end
