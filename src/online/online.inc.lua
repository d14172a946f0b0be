-- Days and settings of a name. The keys are explained in online.c.
-- include: shared/clock
-- include: shared/codes

local DAY_MS = 86400000
local ANOTHER_DAY = 1 -- a result: the client asks again, for the day that the server has

local function digits(number)
  return string.format('%d', number)
end

-- Bits of one key of a bitmap. A larger one has several keys, so that no command takes long.
local CHUNK = 16777216

-- Of a heartbeat: marks count that are later than the first of these times and not later than the
-- second. Those beyond it were made before the clock was set back.
local function window_around(now_ms, window)
  return digits(now_ms - window), digits(now_ms + window)
end

-- Whether the client's idea of today, from `start` to `till`, is the server's.
local function is_today(now_ms, start, till)
  return now_ms >= tonumber(start) and now_ms < tonumber(till)
end
