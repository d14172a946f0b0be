-- limit/check: take from a funnel or a bucket what fits.
-- KEYS[1] state
-- ARGV[1] head   of the state: letter, period, space
-- ARGV[2] cost   of the quantity: period times as much; 0 only looks
-- ARGV[3] most   that may be owed
-- ARGV[4] count  by which the debt shrinks in a microsecond
-- returns what is owed then; when it does not fit, -1 - what is owed
-- include: clock
-- include: debt

local cost = tonumber(ARGV[2])
local debt, lent, tail = owed(KEYS[1], ARGV[1], ARGV[4])
if debt + lent + cost > tonumber(ARGV[3]) then
  return -1 - debt - lent
end
if cost > 0 then
  owe(KEYS[1], ARGV[1], ARGV[4], debt + cost, lent, tail)
end
return debt + lent + cost
