-- This hour and the last, by the server's clock, for log and stats.
-- include: shared/clock

local HOUR = 3600 -- seconds

-- The hour of a time in microseconds.
local function hour_at(microseconds)
  return math.floor(microseconds / (HOUR * US_PER_S))
end

-- What a table of the hour `stored` is by now, at `hour`: 'this', 'last' or 'gone'. Hours are
-- numbered since 1970. A clock that was set back into the hour before goes on with this hour's
-- table; set back further, the table is last hour's. So nothing is lost.
local function age_of(stored, hour)
  if hour == stored or hour == stored - 1 then
    return 'this'
  elseif hour == stored + 1 or hour < stored then
    return 'last'
  end
  return 'gone'
end

-- For EXPIREAT: when what is of this hour is not even last hour's any more.
local function end_of_this(hour)
  return string.format('%d', (hour + 2) * HOUR)
end

-- When what is last hour's is not any more.
local function end_of_last(hour)
  return string.format('%d', (hour + 1) * HOUR)
end
