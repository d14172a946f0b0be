-- Days and settings of a name. The keys are explained in online.c.

local DAY_MS = 86400000

-- The server's clock, in milliseconds.
local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function digits(number)
  return string.format('%d', number)
end

-- Combines bitmaps into SCRATCH. Beyond sixteen keys BITOP is slow: more take several steps.
local BITMAPS_AT_ONCE = 15
local function combine_bitmaps(how, days)
  redis.call('BITOP', how, SCRATCH, unpack(days, 1, math.min(#days, BITMAPS_AT_ONCE)))
  for from = BITMAPS_AT_ONCE + 1, #days, BITMAPS_AT_ONCE do
    redis.call('BITOP', how, SCRATCH, SCRATCH,
               unpack(days, from, math.min(#days, from + BITMAPS_AT_ONCE - 1)))
  end
end

-- Whether the client's idea of today, from `start` to `till`, is the server's.
local function is_today(now_ms, start, till)
  return now_ms >= tonumber(start) and now_ms < tonumber(till)
end
