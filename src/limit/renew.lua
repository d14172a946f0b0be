-- limit/renew: let slots of a concurrency limit live for another period from now.
-- KEYS[1] state
-- ARGV[1] head    see limit/check_all
-- ARGV[2] slots   how many the ticket may stand for
-- ARGV[3] period  in microseconds
-- ARGV[4] ticket
-- returns how many live on; 0 when all have ended
-- include: clock
-- include: window

alive(KEYS[1], ARGV[1])
local slots = {}
for i = 1, tonumber(ARGV[2]) do
  slots[i] = ARGV[1] .. ARGV[4] .. ':' .. i
end
local kept = redis.call('ZREM', KEYS[1], unpack(slots))
if kept > 0 then
  admit(KEYS[1], ARGV[1], ARGV[4], kept, now + ARGV[3])
end
return kept
