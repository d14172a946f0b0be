-- Hours of the server's clock, numbered since 1970: this one and the last, for log and stats.
-- include: shared/clock
-- include: shared/decimal

local hours = {}

local HOUR = 3600 -- seconds

-- The hour of a time in microseconds.
function hours.at(microseconds)
  return math.floor(microseconds / (HOUR * US_PER_S))
end

-- The age of a table of the hour `stored` at `hour`: 'this', 'last' or 'gone'. A clock that was set
-- back into the hour before goes on with this hour's table; set back further, the table is last
-- hour's. So nothing is lost.
function hours.age(stored, hour)
  if hour == stored or hour == stored - 1 then
    return 'this'
  elseif hour == stored + 1 or hour < stored then
    return 'last'
  end
  return 'gone'
end

-- For EXPIREAT: when a table of this hour stops being the last hour's.
function hours.end_of_this(hour)
  return decimal.whole((hour + 2) * HOUR)
end

-- For EXPIREAT: when a table of the last hour is no longer the last hour's.
function hours.end_of_last(hour)
  return decimal.whole((hour + 1) * HOUR)
end
