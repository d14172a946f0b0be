-- Funnel and bucket: the debt, and the quantities lent out in slices. The essays of limit.c and
-- slice.c explain the units and the epochs.
-- include: stored
-- include: funnel

local debts = {}

-- kind, unit, stamp, debt; while slices are lent also: epoch, lent before it, lent in it
local DEBT = {'^(%a+) (%d+) (%d+) (%d+)$', '^(%a+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+)$'}
-- Microseconds of an epoch.
local EPOCH = 500000
-- How long a key with slices stays, so that the last slice ends first, in microseconds.
local SLICES_STAY = 2 * EPOCH

-- The debt of the quantities that are lent out.
function debts.lent(state)
  return math.min((state.before + state.latest) * state.unit, EXACT)
end

-- The whole debt, including the quantities that are lent out.
function debts.owed(state)
  return math.min(state.debt + debts.lent(state), EXACT)
end

-- Stores the debt. Without any debt the key is removed.
function debts.write(key, state)
  if debts.owed(state) == 0 then
    redis.call('DEL', key)
  elseif debts.lent(state) == 0 then
    funnel.write_plain(key, state.kind, state.unit, state.rate, state.debt, state.rule)
  else
    redis.call('SET', key, string.format('%s %d %d %d %d %d %d%s', state.kind, state.unit, now,
                                         state.debt, state.epoch, state.before, state.latest,
                                         stored.ending(state.rule)),
               'PX', expiries.ms(funnel.time_to(0, debts.owed(state), state.rate) + SLICES_STAY))
  end
end

-- Shrinks the debt by the time from `last` to `till`.
function debts.pass_time(state, last, till)
  state.debt = funnel.work_off(state.debt, state.rate, math.max(0, till - last))
end

-- Ends epochs that are over. A lent quantity counts as spent when the epoch after its own ends, so
-- after two epochs nothing is lent.
function debts.end_epochs(state, last)
  for _ = 1, 2 do
    local ends = (state.epoch + 1) * EPOCH
    if debts.lent(state) > 0 and ends <= now then
      debts.pass_time(state, last, ends)
      last = ends
      state.debt = math.min(state.debt + state.before * state.unit, EXACT)
      state.epoch, state.before, state.latest = state.epoch + 1, state.latest, 0
    end
  end
  debts.pass_time(state, last, now)
  if debts.lent(state) == 0 then
    state.epoch = math.floor(now / EPOCH)
  end
end

-- The state as of now.
function debts.read(key, kind, unit, rate)
  local this_epoch = math.floor(now / EPOCH)
  local state = {kind = kind, unit = unit, rate = rate, debt = 0,
                 epoch = this_epoch, before = 0, latest = 0}
  local text = redis.call('GET', key)
  if not text then
    return state
  end
  text, state.rule = stored.split(text)
  local unit_then, stamp, debt, epoch, before, latest = stored.numbers(text, kind, DEBT)
  state.debt, state.epoch = debt, epoch or this_epoch
  state.before, state.latest = before or 0, latest or 0
  if unit_then == 0 then
    stored.refuse()
  end
  if unit_then ~= unit then -- the rule was changed: convert the debt to the new unit
    state.debt = math.min(math.ceil(state.debt * unit / unit_then), EXACT)
  end
  if stamp > now or state.epoch > this_epoch then
    -- The clock was set back: the debt shrinks from now on, and slices count as spent.
    state.debt, state.epoch, state.before, state.latest = debts.owed(state), this_epoch, 0, 0
    debts.write(key, state)
  else
    debts.end_epochs(state, stamp)
  end
  return state
end

-- Microseconds until at most `level` is owed, if no client gives anything back. A lent quantity
-- does not shrink before it counts as spent.
function debts.time_until(state, level)
  local debt, still_lent, from = state.debt, debts.lent(state), now
  if still_lent == 0 then
    return funnel.time_to(level, debt, state.rate)
  end
  local ends, spent = (state.epoch + 1) * EPOCH, state.before
  for _ = 1, 2 do
    if still_lent > 0 then
      local at = from + funnel.time_to(level, debt + still_lent, state.rate)
      if still_lent <= level and at < ends then
        return at - now
      end
      debt = funnel.work_off(debt, state.rate, ends - from) + spent * state.unit
      still_lent = math.max(0, still_lent - spent * state.unit)
      from, ends, spent = ends, ends + EPOCH, state.latest
    end
  end
  return from + funnel.time_to(level, math.min(debt, EXACT), state.rate) - now
end
