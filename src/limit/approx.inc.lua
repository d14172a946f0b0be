-- Approximate window: two counters. See the essay of limit.c.

-- include: basics
-- include: expiry

-- kind, period, index of the stretch, its count, the count of the one before
local COUNTERS = '^(%a+) (%d+) (%d+) (%d+) (%d+)$'

-- Writes down the counts of this stretch and the one before.
local function write_counters(key, period, current, previous)
  if current + previous == 0 then
    redis.call('DEL', key)
    return
  end
  local left = period - math.fmod(now, period) + (current > 0 and period or 0)
  local index = math.floor(now / period)
  redis.call('SET', key, string.format('approx %d %d %d %d', period, index, current, previous),
             'PX', expiry(left))
end

-- The counts of this stretch and the one before.
local function read_counters(key, period)
  local text = redis.call('GET', key)
  if not text then
    return 0, 0
  end
  local own_period, index, current, previous = numbers_of(text, 'approx', COUNTERS)
  if own_period == 0 then
    refuse()
  end
  local passed = math.floor(now / own_period) - index
  if passed == 1 then
    current, previous = 0, current
  elseif passed > 1 then
    current, previous = 0, 0
  end
  if own_period ~= period then -- the rule was changed: what counted before counts as used now
    local share = (own_period - math.fmod(now, own_period)) / own_period
    return math.min(current + math.ceil(previous * share), EXACT), 0
  end
  if passed < 0 then -- the clock was set back: go on from here
    write_counters(key, period, current, previous)
  end
  return current, previous
end

-- What counts `passed` microseconds into the stretch, times the period.
local function weight(current, previous, period, passed)
  return previous * (period - passed) + current * period
end

-- Microseconds of a stretch until `previous`, which loses weight, and `current` come to `level`.
local function falls_to(level, current, previous, period)
  local above = current + previous - level
  if above <= 0 then
    return 0
  end
  return math.ceil(above * period / previous)
end

-- Microseconds until no more than `level` counts. At the end of the stretch the current count takes
-- the place of the previous one.
local function time_to_fall(level, current, previous, period, passed)
  local time
  if current <= level then
    time = falls_to(level, current, previous, period) - passed
  else
    time = period - passed + falls_to(level, 0, current, period)
  end
  return math.max(0, math.min(time, 2 * period))
end
