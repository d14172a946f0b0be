-- Expiries: how long the keys of limits live.
-- include: shared/clock
-- include: shared/decimal

local expiries = {}

-- Microseconds in whole milliseconds, rounded up, for PX and PEXPIRE.
function expiries.ms(microseconds)
  return decimal.whole(math.ceil(microseconds / US_PER_MS))
end
