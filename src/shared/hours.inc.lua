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

-- The hour of an event at `at` (ms; '' for one that happens now): this hour or the last. For other
-- times nil, and TKL__AT_OLD or TKL__AT_FUTURE.
function hours.of_event(at, now)
  if at == '' then
    return hours.at(now)
  end
  local ms = clock.to_ms(now)
  if tonumber(at) > ms + TKL__AT_AHEAD_MS then
    return nil, TKL__AT_FUTURE
  end
  local this, hour = hours.at(now), hours.at(math.min(at, ms) * US_PER_MS)
  if hour < this - 1 then
    return nil, TKL__AT_OLD
  end
  return hour
end

-- Whether an event of `hour`, this hour or the last, belongs to the last hour's table, when the
-- table of this hour has this age. As long as no event of this hour has come, the last hour's
-- events are in this hour's table.
function hours.is_for_last(hour, this, age)
  return hour < this and age == 'this'
end

-- Whether the table of this hour has to make room for the event's hour.
function hours.begins(hour, this, age)
  return age == 'gone' or hour == this and age ~= 'this'
end
