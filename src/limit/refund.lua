-- limit/refund: give back what was taken.
-- KEYS[1] state
-- ARGV[1] kind      see limit/check
-- ARGV[2] quantity  to give back at most
-- ARGV[3] unit      see limit/check
-- ARGV[4] rate      ditto
-- ARGV[5] ticket    ditto
-- flags: allow-oom
-- returns 1; 0 when all entries of the ticket have ended or were given back
-- include: shared/clock
-- include: debts
-- include: window
-- include: approximate

now = clock.us()
local key = KEYS[1]
local kind, quantity, unit, rate, ticket =
    ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]

local function refund_debt()
  local state = debts.read(key, kind, unit, rate)
  state.debt = math.max(0, state.debt - quantity * unit)
  debts.write(key, state)
  return 1
end

-- Gives back the latest counts first.
local function refund_counters()
  local current, previous, rule = approximate.read_counters(key, unit)
  local from_current = math.min(current, quantity)
  local from_previous = math.min(previous, quantity - from_current)
  approximate.write_counters(key, unit, current - from_current, previous - from_previous,
                             rule)
  return 1
end

-- Removes the last entries of the ticket, so that the others are numbered without a gap.
local function refund_entries()
  window.count_alive(key, kind)
  local count, entries = window.count_of(key, kind, ticket), {}
  for i = math.max(1, count - quantity + 1), count do
    entries[#entries + 1] = window.entry(kind, ticket, i)
  end
  if #entries == 0 then
    return 0
  end
  redis.call('ZREM', key, unpack(entries))
  window.drop_unused(key)
  if kind == 'concurrency' then -- wakes programs that wait for a slot
    redis.call('SPUBLISH', key, 'free')
  end
  return 1
end

local METHODS = {gcra = refund_debt, bucket = refund_debt, approx = refund_counters,
                 window = refund_entries, concurrency = refund_entries}
return METHODS[kind]()
