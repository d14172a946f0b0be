-- The clock of the server. Clients' clocks decide nothing.

local clock = {}

local US_PER_S, US_PER_MS = 1000000, 1000 -- microseconds

-- The time in microseconds since 1970.
function clock.us()
  local seconds, microseconds = unpack(redis.call('TIME'))
  return seconds * US_PER_S + microseconds
end

-- Microseconds in whole milliseconds.
function clock.to_ms(microseconds)
  return math.floor(microseconds / US_PER_MS)
end

-- The time in milliseconds since 1970.
function clock.ms()
  return clock.to_ms(clock.us())
end
