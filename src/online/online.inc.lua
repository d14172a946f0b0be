-- Users who are online: days and windows. The keys are explained in online.c.
-- include: shared/clock
-- include: shared/decimal

local online = {}

local DAY_MS = 86400000
local ANOTHER_DAY = 1 -- a result: the client asks again, for the server's day

-- Bits of one key of a bitmap. A larger bitmap has several keys, so that no command takes long.
local CHUNK = 16777216

-- Returns two times. Marks of a heartbeat count if they are later than the first and not later than
-- the second. Later marks were made before the clock was set back.
function online.window_around(now_ms, window)
  return decimal.whole(now_ms - window), decimal.whole(now_ms + window)
end

-- Whether the client's today, from `start` to `till`, is the server's.
function online.is_today(now_ms, start, till)
  return now_ms >= tonumber(start) and now_ms < tonumber(till)
end
