-- The server's clock: time that decides something is read here.

-- Microseconds since 1970.
local function clock_us()
  local seconds, microseconds = unpack(redis.call('TIME'))
  return seconds * 1000000 + microseconds
end

-- Whole milliseconds.
local function to_ms(microseconds)
  return math.floor(microseconds / 1000)
end

-- Milliseconds since 1970.
local function clock_ms()
  return to_ms(clock_us())
end
