-- limit/check: take from all of these limits, or from none of them.
-- KEYS[1...] states
-- ARGV[1] take  1; 0: only look
-- ARGV[2...] seven for each key:
--   kind      gcra, bucket, window, approx or concurrency
--   quantity  to take; 0 only looks
--   capacity  the most that fits at once
--   unit      of gcra and bucket: the debt of one; of others: the period in microseconds
--   rate      of gcra and bucket: by which the debt shrinks in a microsecond; of others: 0
--   ticket    of window and concurrency; of others ''
--   ahead     microseconds that may be booked ahead; of approx and concurrency: 0
-- returns for each key five numbers: 1 or 0 for whether it fits there; how many more would fit; and
-- microseconds until what was taken may be used, until the quantity fits, until all is unused

-- include: shared/clock
local now = clock_us()

-- include: funnel

-- The common case, before the other libraries: one funnel or bucket, of which nothing is lent out,
-- and whose state this rule has written, if anybody.
local takes, kind, quantity, capacity, unit, rate, _, ahead = unpack(ARGV)
if #KEYS == 1 and (kind == 'gcra' or kind == 'bucket') then
  local STATE = KEYS[1]
  local text = redis.call('GET', STATE)
  local kind_then, unit_then, stamp, debt = kind, unit, now, 0
  if text then
    kind_then, unit_then, stamp, debt = string.match(text, DEBT)
  end
  local is_ours = kind_then == kind and unit_then == unit
  unit, rate, stamp, debt = tonumber(unit), tonumber(rate), tonumber(stamp), tonumber(debt)
  if is_ours and stamp <= now and debt <= EXACT then
    local cost, most = quantity * unit, capacity * unit
    debt = work_off(debt, rate, now - stamp)
    local fits = fits_in(debt, cost, most, ahead, rate)
    if fits and cost > 0 and takes == '1' then
      debt = debt + cost
      write_plain(STATE, kind, unit, rate, debt)
    end
    return {fits and 1 or 0, room_for(debt, most, unit), time_to(most, debt, rate),
            time_to(most - cost, debt, rate), time_to(0, debt, rate)}
  end
end

-- include: debt
-- include: window
-- include: approx

-- Each of these answers whether it fits, a function that takes, and one that tells.

local function by_debt(key, kind, quantity, capacity, unit, rate, _, ahead)
  local state, most = read_debt(key, kind, unit, rate), capacity * unit
  local cost = quantity * unit
  local function take()
    state.debt = state.debt + cost
    write_debt(key, state)
  end
  local function tell()
    return room_for(owed(state), most, unit), time_until(state, most),
           time_until(state, most - cost), time_until(state, 0)
  end
  return fits_in(owed(state), cost, most, ahead, rate), take, tell
end

local function by_window(key, kind, quantity, count, period, _, ticket, ahead)
  local alive, ended = count_alive(key, kind)
  local over = alive + quantity - count
  local start = over > 0 and end_of(key, ended + over - 1) or now
  local mine = start > now and quantity > 0 and redis.call('ZSCORE', key, entry(kind, ticket, 1))
  if mine then -- a repeated request
    start = math.max(now, mine - period)
  end
  local function take()
    alive = alive + admit(key, kind, ticket, quantity, start + period)
  end
  local function tell()
    return math.max(0, count - alive), start - now, start - now, end_of(key, -1) - now
  end
  return mine or start <= now + ahead, take, tell
end

local function by_counters(key, _, quantity, count, period)
  local current, previous = read_counters(key, period)
  local passed = math.fmod(now, period)
  local function take()
    current = current + quantity
    write_counters(key, period, current, previous)
  end
  local function tell()
    local room = count * period - weight(current, previous, period, passed)
    return math.floor(math.max(0, room) / period), 0,
           time_to_fall(count - quantity, current, previous, period, passed),
           time_to_fall(0, current, previous, period, passed)
  end
  return weight(current + quantity, previous, period, passed) <= count * period, take, tell
end

local METHODS = {gcra = by_debt, bucket = by_debt, window = by_window, concurrency = by_window,
                 approx = by_counters}
local FIRST, ARGUMENTS = 2, 7 -- in ARGV: where those of the first key begin, how many each has

local fits, take, tell, quantities, all = {}, {}, {}, {}, takes == '1'
for i, key in ipairs(KEYS) do
  local first = FIRST + (i - 1) * ARGUMENTS
  local kind, quantity, capacity, unit, rate, ticket, ahead =
      unpack(ARGV, first, first + ARGUMENTS - 1)
  quantities[i] = tonumber(quantity)
  fits[i], take[i], tell[i] = METHODS[kind](key, kind, quantities[i], tonumber(capacity),
                                            tonumber(unit), tonumber(rate), ticket,
                                            tonumber(ahead))
  all = all and fits[i]
end

local answer = {}
for i in ipairs(KEYS) do
  if all and quantities[i] > 0 then
    take[i]()
  end
  answer[#answer + 1] = fits[i] and 1 or 0
  for _, number in ipairs({tell[i]()}) do
    answer[#answer + 1] = math.min(number, EXACT)
  end
end
return answer
