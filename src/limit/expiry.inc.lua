-- When keys expire.

-- Microseconds in whole milliseconds, rounded up, for PX and PEXPIRE.
local function expiry(microseconds)
  return string.format('%d', math.ceil(microseconds / 1000))
end
