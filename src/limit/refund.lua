-- limit/refund: give back what was taken.
-- KEYS[1] state
-- ARGV[1] head    see limit/check_all
-- ARGV[2] cost    ditto
-- ARGV[3] count   by which the debt shrinks in a microsecond; of others anything
-- ARGV[4] ticket  of windows; of others ''
-- returns 1; 0 when a ticket's entries have all ended
-- include: clock
-- include: debt
-- include: window
-- include: approx

local key, head, cost = KEYS[1], ARGV[1], tonumber(ARGV[2])
local kind = string.sub(head, 1, 1)

if kind == 'a' then
  local current, previous = counted(key, head)
  local kept = math.max(0, current - cost)
  note(key, head, kept, math.max(0, previous - (cost - (current - kept))))
  return 1
end
if kind == 'g' or kind == 'b' then
  local debt, lent, tail = owed(key, head, ARGV[3])
  owe(key, head, ARGV[3], math.max(0, debt - cost), lent, tail)
  return 1
end

alive(key, head)
local entries = {}
for i = 1, cost do
  entries[i] = head .. ARGV[4] .. ':' .. i
end
if redis.call('ZREM', key, unpack(entries)) == 0 then
  return 0
end
if kind == 'c' then -- somebody may wait for it
  redis.call('SPUBLISH', key, 'free')
end
return 1
