-- limit/check_all: take from all of these limits, or from none of them.
-- KEYS[1...] states
-- ARGV[1...] six for each key:
--   head    letter, and of all but windows the period and a space
--   cost    see limit/check; of others the quantity
--   most    see limit/check; of others the count
--   rate    see limit/check; of others the period in microseconds
--   ticket  of windows; of others ''
--   ahead   microseconds that may be booked ahead, of windows
-- returns for each key 1 or 0 for whether it fits there, and three numbers:
--   of a funnel or bucket: what is owed, 0, 0
--   of a window: how many are alive, microseconds until it fits and until the last ends
--   approximate: microseconds into this stretch, its count, the count of the one before
-- include: clock
-- include: debt
-- include: window
-- include: approx

-- Each of these answers whether it fits, a function that takes, and one that tells.

local function by_debt(key, head, cost, most, count)
  local debt, lent, tail = owed(key, head, count)
  local function take()
    debt = debt + cost
    owe(key, head, count, debt, lent, tail)
  end
  local function tell()
    return debt + lent, 0, 0
  end
  return debt + lent + cost <= tonumber(most), take, tell
end

local function by_window(key, letter, quantity, count, period, ticket, ahead)
  local n = alive(key, letter)
  local over = n + quantity - count
  local start = over > 0 and end_of(key, over) or now
  local mine = start > now and redis.call('ZSCORE', key, letter .. ticket .. ':1')
  if mine then -- a repeated request
    start = math.max(now, mine - period)
  end
  local function take()
    n = n + admit(key, letter, ticket, tonumber(quantity), start + period)
  end
  local function tell()
    return n, start - now, end_of(key, -1) - now
  end
  return mine or start <= now + ahead, take, tell
end

local function by_counters(key, head, quantity, count, period)
  local current, previous = counted(key, head)
  local passed = now % period
  local function take()
    current = current + quantity
    note(key, head, current, previous)
  end
  local function tell()
    return passed, current, previous
  end
  local sum = previous * (period - passed) + (current + quantity) * period
  return sum <= count * period, take, tell
end

local weigh = {g = by_debt, b = by_debt, w = by_window, c = by_window, a = by_counters}
local fit, take, tell, all = {}, {}, {}, true
for i, key in ipairs(KEYS) do
  local at = 6 * i - 5
  local kind = string.sub(ARGV[at], 1, 1)
  fit[i], take[i], tell[i] = weigh[kind](key, unpack(ARGV, at, at + 5))
  all = all and fit[i]
end

local answer = {}
for i in ipairs(KEYS) do
  if all and tonumber(ARGV[6 * i - 4]) > 0 then
    take[i]()
  end
  local at = 4 * i
  answer[at - 3] = fit[i] and 1 or 0
  answer[at - 2], answer[at - 1], answer[at] = tell[i]()
end
return answer
