-- The debt of a funnel or bucket without slices: how it is stored, how it
-- shrinks, and what fits. The essay of limit.c explains units and rates.
-- include: shared/decimal
-- include: stored
-- include: expiries

local funnel = {}

-- Microseconds until a debt has shrunk to `level`.
function funnel.time_to(level, debt, rate)
  return math.ceil(math.max(0, debt - level) / rate)
end

-- The rest of a debt after this many microseconds.
function funnel.work_off(debt, rate, microseconds)
  return math.max(0, debt - microseconds * rate)
end

-- Whether a cost fits: the limit is `most`, plus the debt that is worked off in `ahead`
-- microseconds.
function funnel.fits_in(owed, cost, most, ahead, rate)
  return owed + cost <= math.min(most + ahead * rate, EXACT)
end

-- The number of further units that would fit.
function funnel.room_for(owed, most, unit)
  return math.floor(math.max(0, most - owed) / unit)
end

-- Stores the debt and the rule, until the debt is worked off.
function funnel.write_plain(key, kind, unit, rate, debt, rule)
  redis.call('SET', key, string.format('%s %d %d %d%s', kind, unit, now, debt,
                                       stored.ending(rule)),
             'PX', expiries.ms(funnel.time_to(0, debt, rate)))
end
