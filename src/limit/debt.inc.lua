-- Funnel and bucket: what is owed, and what is lent out in slices. The essays of limit.c and
-- slice.c explain the units and the epochs.

-- include: basics
-- include: funnel

-- While slices are lent also: epoch, lent before it, lent in it
local DEBT_AND_SLICES = '^(%a+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+)$'
-- Microseconds of an epoch.
local EPOCH = 500000
-- A key with slices stays until the last of them has ended, in microseconds.
local SLICES_STAY = 2 * EPOCH

-- What is lent out, as debt.
local function lent(state)
  return math.min((state.before + state.latest) * state.unit, EXACT)
end

local function owed(state)
  return math.min(state.debt + lent(state), EXACT)
end

-- Writes down what is owed now. With nothing owed there is nothing to keep.
local function write_debt(key, state)
  if owed(state) == 0 then
    redis.call('DEL', key)
  elseif lent(state) == 0 then
    write_plain(key, state.kind, state.unit, state.rate, state.debt)
  else
    redis.call('SET', key, string.format('%s %d %d %d %d %d %d', state.kind, state.unit, now,
                                         state.debt, state.epoch, state.before, state.latest),
               'PX', expiry(time_to(0, owed(state), state.rate) + SLICES_STAY))
  end
end

-- Lets the time from `last` to `till` shrink the debt.
local function pass_time(state, last, till)
  state.debt = work_off(state.debt, state.rate, math.max(0, till - last))
end

-- What was lent counts as spent when the epoch after its own ends: twice, and nothing is lent.
local function end_epochs(state, last)
  for _ = 1, 2 do
    local ends = (state.epoch + 1) * EPOCH
    if lent(state) > 0 and ends <= now then
      pass_time(state, last, ends)
      last = ends
      state.debt = math.min(state.debt + state.before * state.unit, EXACT)
      state.epoch, state.before, state.latest = state.epoch + 1, state.latest, 0
    end
  end
  pass_time(state, last, now)
  if lent(state) == 0 then
    state.epoch = math.floor(now / EPOCH)
  end
end

-- The state as of now.
local function read_debt(key, kind, unit, rate)
  local this_epoch = math.floor(now / EPOCH)
  local state = {kind = kind, unit = unit, rate = rate, debt = 0,
                 epoch = this_epoch, before = 0, latest = 0}
  local text = redis.call('GET', key)
  if not text then
    return state
  end
  local unit_then, stamp
  if string.match(text, DEBT) then
    unit_then, stamp, state.debt = numbers_of(text, kind, DEBT)
  else
    unit_then, stamp, state.debt, state.epoch, state.before, state.latest =
        numbers_of(text, kind, DEBT_AND_SLICES)
  end
  if unit_then == 0 then
    refuse()
  end
  if unit_then ~= unit then -- the rule was changed: the same quantity in its unit
    state.debt = math.min(math.ceil(state.debt * unit / unit_then), EXACT)
  end
  if stamp > now or state.epoch > this_epoch then
    -- The clock was set back: the debt is worked off from now on, and slices count as spent.
    state.debt, state.epoch, state.before, state.latest = owed(state), this_epoch, 0, 0
    write_debt(key, state)
  else
    end_epochs(state, stamp)
  end
  return state
end

-- Microseconds until no more than `level` is owed, when nobody gives anything back. What is lent
-- does not shrink before it counts as spent.
local function time_until(state, level)
  local debt, still_lent, from = state.debt, lent(state), now
  local ends, spent = (state.epoch + 1) * EPOCH, state.before
  for _ = 1, 2 do
    if still_lent > 0 then
      local at = from + time_to(level, debt + still_lent, state.rate)
      if still_lent <= level and at < ends then
        return at - now
      end
      debt = work_off(debt, state.rate, ends - from) + spent * state.unit
      still_lent = math.max(0, still_lent - spent * state.unit)
      from, ends, spent = ends, ends + EPOCH, state.latest
    end
  end
  return from + time_to(level, math.min(debt, EXACT), state.rate) - now
end
