-- limit/renew: let slots of a concurrency limit live for another period from now.
-- KEYS[1] state
-- ARGV[1] quantity  how many slots of the ticket
-- ARGV[2] period    in microseconds
-- ARGV[3] ticket
-- flags: allow-oom
-- returns how many live on; 0 when all have ended
-- include: shared/clock
-- include: window

now = clock.us()
local KIND = 'concurrency'
local key, quantity, period, ticket = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]

window.count_alive(key, KIND)
local count, words = math.min(quantity, window.count_of(key, KIND, ticket)), {}
for i = 1, count do
  words[#words + 1] = decimal.whole(now + period)
  words[#words + 1] = window.entry(KIND, ticket, i)
end
if count > 0 then
  redis.call('ZADD', key, 'XX', unpack(words))
  window.expire_with_last(key)
end
return count
