-- How the kinds of limits are checked. A rule is the table that limit/check makes of its arguments;
-- methods note their findings there.
--   look  whether the quantity fits
--   take  takes it
--   charge  counts it although it is denied, but never more than a limit that is used up
--   used  how much is taken
--   tell  how many more would fit; microseconds until what was taken may be used, until the
--         quantity fits, until all is unused
-- include: debts
-- include: window
-- include: approximate

local methods = {}

-- A debt without slices, with its rule.
local PLAIN = '^(%a+) (%d+) (%d+) (%d+) / %d+ %d+ %d+$'

-- ---- Funnel and bucket --------------------------------------------------------------------------

function methods.look_at_debt(rule)
  rule.state = debts.read(rule.key, rule.kind, rule.unit, rule.rate)
  rule.cost, rule.most = rule.quantity * rule.unit, rule.capacity * rule.unit
  return funnel.fits_in(debts.owed(rule.state), rule.cost, rule.most, rule.ahead, rule.rate)
end

function methods.take_debt(rule)
  rule.state.debt, rule.state.rule = rule.state.debt + rule.cost, rule.text
  debts.write(rule.key, rule.state)
end

function methods.charge_debt(rule)
  local state = rule.state
  local owed = math.min(debts.owed(state) + rule.cost, rule.most)
  state.debt, state.rule = math.max(state.debt, owed - debts.lent(state)), rule.text
  debts.write(rule.key, state)
end

function methods.used_debt(rule)
  return math.ceil(debts.owed(rule.state) / rule.unit)
end

function methods.tell_debt(rule)
  return funnel.room_for(debts.owed(rule.state), rule.most, rule.unit),
         debts.time_until(rule.state, rule.most),
         debts.time_until(rule.state, rule.most - rule.cost), debts.time_until(rule.state, 0)
end

-- ---- Exact window and concurrency ---------------------------------------------------------------

function methods.look_at_window(rule)
  local alive, before, first = window.count_alive(rule.key, rule.kind, rule.only_reads)
  local over = alive + rule.quantity - rule.capacity
  local start = over > 0 and window.end_of(rule.key, before + over - 1) or now
  local mine = start > now and not rule.only_looks and
               redis.call('ZSCORE', rule.key, window.entry(rule.kind, rule.ticket, 1))
  if mine then -- a repeated request
    start = math.max(now, mine - rule.unit)
  end
  rule.alive, rule.start, rule.first = alive, start, first
  return mine or start <= now + rule.ahead
end

function methods.take_places(rule)
  rule.alive = rule.alive + window.admit(rule.key, rule.kind, rule.ticket, rule.quantity,
                                         rule.start + rule.unit)
  window.write_rule(rule.key, rule.kind, rule.text, rule.first)
end

-- Counts the denied quantity by entries that no refund finds, and that are not taken for a repeated
-- request. Only the last entries of all matter, as many as the limit allows: the others are removed.
function methods.charge_places(rule)
  local key, kind = rule.key, rule.kind
  window.admit(key, kind, '-' .. rule.ticket, rule.quantity, now + rule.unit)
  window.write_rule(key, kind, rule.text, rule.first)
  local alive, before = window.count_alive(key, kind)
  if alive > rule.capacity then
    redis.call('ZREMRANGEBYRANK', key, before, before + alive - rule.capacity - 1)
  end
  methods.look_at_window(rule)
end

function methods.used_places(rule)
  return rule.alive
end

function methods.tell_window(rule)
  local wait = rule.start - now
  return math.max(0, rule.capacity - rule.alive), wait, wait,
         math.max(0, window.end_of(rule.key, -1) - now)
end

-- Whether limits of this kind store an entry for each that was taken.
function methods.are_places(kind)
  return kind == 'window' or kind == 'concurrency'
end

-- ---- Approximate window -------------------------------------------------------------------------

function methods.look_at_counters(rule)
  rule.current, rule.previous = approximate.read_counters(rule.key, rule.unit)
  rule.passed = math.fmod(now, rule.unit)
  return approximate.weight(rule.current + rule.quantity, rule.previous, rule.unit, rule.passed) <=
         rule.capacity * rule.unit
end

function methods.take_count(rule)
  rule.current = rule.current + rule.quantity
  approximate.write_counters(rule.key, rule.unit, rule.current, rule.previous, rule.text)
end

function methods.charge_count(rule)
  local charged = math.min(rule.current + rule.quantity, rule.capacity)
  rule.current = math.max(rule.current, charged)
  approximate.write_counters(rule.key, rule.unit, rule.current, rule.previous, rule.text)
end

function methods.used_count(rule)
  return math.ceil(approximate.weight(rule.current, rule.previous, rule.unit, rule.passed) /
                   rule.unit)
end

function methods.tell_counters(rule)
  local current, previous, period, passed = rule.current, rule.previous, rule.unit, rule.passed
  local room = rule.capacity * period - approximate.weight(current, previous, period, passed)
  return math.floor(math.max(0, room) / period), 0,
         approximate.time_to_fall(rule.capacity - rule.quantity, current, previous, period, passed),
         approximate.time_to_fall(0, current, previous, period, passed)
end

-- Answers limit/check for the most common case: one funnel or bucket without slices, whose state
-- this rule has written. Returns nil in other cases. It follows the same rules as the methods above
-- and takes 0.6 of their time, because it makes no tables.
function methods.check_alone(key, takes, kind, quantity, capacity, unit, rate, _, ahead, rule,
                             charges)
  if kind ~= 'gcra' and kind ~= 'bucket' then
    return nil
  end
  local text = redis.call('GET', key)
  local kind_then, unit_then, stamp, debt = kind, unit, now, 0
  if text then
    kind_then, unit_then, stamp, debt = string.match(text, PLAIN)
  end
  local is_ours = kind_then == kind and unit_then == unit
  unit, rate, stamp, debt = tonumber(unit), tonumber(rate), tonumber(stamp), tonumber(debt)
  if not is_ours or stamp > now or debt > EXACT then
    return nil
  end
  local only_looks = quantity == '0'
  local cost, most = math.max(1, tonumber(quantity)) * unit, capacity * unit
  debt = funnel.work_off(debt, rate, now - stamp)
  local fits = funnel.fits_in(debt, cost, most, ahead, rate)
  if not fits and charges == '1' then
    return nil
  end
  if fits and not only_looks and takes == '1' then
    debt = debt + cost
    funnel.write_plain(key, kind, unit, rate, debt, rule)
  end
  return {fits and 1 or 0, funnel.room_for(debt, most, unit), funnel.time_to(most, debt, rate),
          funnel.time_to(most - cost, debt, rate), funnel.time_to(0, debt, rate)}
end

-- ---- By kind ------------------------------------------------------------------------------------

local BY_DEBT = {look = methods.look_at_debt, take = methods.take_debt,
                 charge = methods.charge_debt, tell = methods.tell_debt, used = methods.used_debt}
local BY_WINDOW = {look = methods.look_at_window, take = methods.take_places,
                   charge = methods.charge_places, tell = methods.tell_window,
                   used = methods.used_places}
local BY_COUNTERS = {look = methods.look_at_counters, take = methods.take_count,
                     charge = methods.charge_count, tell = methods.tell_counters,
                     used = methods.used_count}
local METHODS = {gcra = BY_DEBT, bucket = BY_DEBT, window = BY_WINDOW, concurrency = BY_WINDOW,
                 approx = BY_COUNTERS}
