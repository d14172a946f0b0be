-- limit/check: take from a funnel or a bucket what fits.
-- KEYS[1] state
-- ARGV[1] head   of the state: letter, period, space
-- ARGV[2] cost   of the quantity: period times as much; 0 only looks
-- ARGV[3] most   that may be owed
-- ARGV[4] count  by which the debt shrinks in a microsecond
-- returns what is owed then; when it does not fit, -1 - what is owed
-- include: clock

local head, cost, most, count = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

-- The common case, in as few steps as there can be: the unit is this rule's, nothing is lent out.
local state, n, debt, passed = redis.call('GET', KEYS[1]), #head, 0, 0
if state then
  debt = string.sub(state, 1, n) == head and tonumber(string.sub(state, n + 18))
  passed = debt and now - string.sub(state, n + 1, n + 16)
end
if debt and passed >= 0 then
  debt = debt - passed * count
  if debt < 0 then
    debt = 0
  end
  if debt + cost > most then
    return -1 - debt
  end
  debt = debt + cost
  if cost > 0 then
    redis.call('SET', KEYS[1], string.format('%s%d %d', head, now, debt),
               'PX', string.format('%d', (debt - 1) / (count * 1000) + 1))
  end
  return debt
end

-- include: debt

local lent, tail
debt, lent, tail = owed(KEYS[1], head, count)
if debt + lent + cost > most then
  return -1 - debt - lent
end
if cost > 0 then
  owe(KEYS[1], head, count, debt + cost, lent, tail)
end
return debt + lent + cost
