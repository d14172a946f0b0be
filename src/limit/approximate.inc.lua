-- Approximate window: two counters. See the essay of limit.c.
-- include: stored
-- include: expiries

local approximate = {}

-- kind, period, index of the stretch, its count, the count of the one before
local COUNTERS = {'^(%a+) (%d+) (%d+) (%d+) (%d+)$'}

-- Writes the counts of this stretch and the one before, and the rule.
function approximate.write_counters(key, period, current, previous, rule)
  if current + previous == 0 then
    redis.call('DEL', key)
    return
  end
  local left = period - math.fmod(now, period) + (current > 0 and period or 0)
  local index = math.floor(now / period)
  redis.call('SET', key, string.format('approx %d %d %d %d%s', period, index, current, previous,
                                       stored.ending(rule)),
             'PX', expiries.ms(left))
end

-- The counts of this stretch and the one before, and the rule.
function approximate.read_counters(key, period)
  local text = redis.call('GET', key)
  if not text then
    return 0, 0
  end
  local body, rule = stored.split(text)
  local own_period, index, current, previous = stored.numbers(body, 'approx', COUNTERS)
  if own_period == 0 then
    stored.refuse()
  end
  local passed = math.floor(now / own_period) - index
  if passed == 1 then
    current, previous = 0, current
  elseif passed > 1 then
    current, previous = 0, 0
  end
  if own_period ~= period then -- the rule was changed: the weighted count now counts as current
    local share = (own_period - math.fmod(now, own_period)) / own_period
    return math.min(current + math.ceil(previous * share), EXACT), 0, rule
  end
  if passed < 0 then -- the clock was set back: continue from now
    approximate.write_counters(key, period, current, previous, rule)
  end
  return current, previous, rule
end

-- The quantity that counts `passed` microseconds into the stretch, times the period.
function approximate.weight(current, previous, period, passed)
  return previous * (period - passed) + current * period
end

-- Microseconds from the start of a stretch until `current` and the shrinking weight of `previous`
-- fall to `level` together.
function approximate.falls_to(level, current, previous, period)
  local above = current + previous - level
  if above <= 0 then
    return 0
  end
  return math.ceil(above * period / previous)
end

-- Microseconds until at most `level` counts. At the end of the stretch the current count becomes
-- the previous one.
function approximate.time_to_fall(level, current, previous, period, passed)
  local time
  if current <= level then
    time = approximate.falls_to(level, current, previous, period) - passed
  else
    time = period - passed + approximate.falls_to(level, 0, current, period)
  end
  return math.max(0, math.min(time, 2 * period))
end
