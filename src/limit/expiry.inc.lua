-- When keys expire.
-- include: shared/clock

-- Microseconds in whole milliseconds, rounded up, for PX and PEXPIRE.
local function expiry(microseconds)
  return string.format('%d', math.ceil(microseconds / US_PER_MS))
end
