-- limit/lease: settle a slice of the budget, and take the next one.
-- KEYS[1] state
-- ARGV[1] head   see limit/check
-- ARGV[2] most   ditto
-- ARGV[3] count  ditto
-- ARGV[4] epoch  of the slice to settle; -1: none
-- ARGV[5] slice  how much it was
-- ARGV[6] spent  of it
-- ARGV[7] wish   for the next slice
-- ARGV[8] least  that it must be; 0: none is wanted
-- returns {slice or 0, its epoch, microseconds that it lasts, what is owed}
-- include: clock
-- include: debt

local key, head, count, period = KEYS[1], ARGV[1], ARGV[3], tonumber(string.sub(ARGV[1], 2))
local debt, lent, tail = owed(key, head, count)
local epoch, before, latest = string.match(tail, '(%d+) (%d+) (%d+)')
epoch = tonumber(epoch) or math.floor(now / 500000)
before, latest = tonumber(before) or 0, tonumber(latest) or 0

-- A slice of an epoch that is over counts as spent already.
local age, slice, spent = epoch - ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
if age == 0 and slice <= latest then
  latest, debt = latest - slice, debt + spent * period
elseif age == 1 and slice <= before then
  before, debt = before - slice, debt + spent * period
end

-- Half of what there is, so that others find something, too.
local room = math.floor((ARGV[2] - debt) / period) - before - latest
local least, next_slice = tonumber(ARGV[8]), 0
if least > 0 and room >= least then
  next_slice = math.min(tonumber(ARGV[7]), math.max(least, math.ceil(room / 2)))
  latest = latest + next_slice
end

tail = before + latest > 0 and string.format(' %d %d %d', epoch, before, latest) or ''
lent = math.min((before + latest) * period, MOST)
owe(key, head, count, debt, lent, tail)
return {next_slice, epoch, (epoch + 2) * 500000 - now, debt + lent}
