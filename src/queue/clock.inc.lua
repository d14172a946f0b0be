-- The server's clock.

-- Milliseconds since 1970.
local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- A whole number as text, without an exponent.
local function text(number)
  return string.format('%.0f', number)
end
