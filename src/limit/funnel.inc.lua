-- The debt of a funnel or bucket of which nothing is lent out: how it is written down, how it
-- shrinks, and what fits. The essay of limit.c explains units and rates.

-- include: shared/exact
-- include: expiry

-- kind, unit, stamp, debt
local DEBT = '^(%a+) (%d+) (%d+) (%d+)$'

-- Microseconds until a debt has shrunk to `level`.
local function time_to(level, debt, rate)
  return math.ceil(math.max(0, debt - level) / rate)
end

-- What is left of a debt after so many microseconds.
local function work_off(debt, rate, microseconds)
  return math.max(0, debt - microseconds * rate)
end

-- Whether a cost fits: up to `most` may be owed, and what is worked off in `ahead` microseconds.
local function fits_in(owed, cost, most, ahead, rate)
  return owed + cost <= math.min(most + ahead * rate, EXACT)
end

-- How many more would fit.
local function room_for(owed, most, unit)
  return math.floor(math.max(0, most - owed) / unit)
end

-- Writes down what is owed now, for as long as it is.
local function write_plain(key, kind, unit, rate, debt)
  redis.call('SET', key, string.format('%s %d %d %d', kind, unit, now, debt),
             'PX', expiry(time_to(0, debt, rate)))
end
