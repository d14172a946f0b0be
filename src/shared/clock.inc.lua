-- The server's clock: time that decides something is read here.

local US_PER_S, US_PER_MS = 1000000, 1000 -- microseconds

-- Microseconds since 1970.
local function clock_us()
  local seconds, microseconds = unpack(redis.call('TIME'))
  return seconds * US_PER_S + microseconds
end

-- Whole milliseconds.
local function to_ms(microseconds)
  return math.floor(microseconds / US_PER_MS)
end

-- Milliseconds since 1970.
local function clock_ms()
  return to_ms(clock_us())
end
