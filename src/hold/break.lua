-- hold/break: take the name away from all holders, and hand it to the next waiter.
-- KEYS[1] state    see hold/acquire
-- KEYS[2] sharers
-- KEYS[3] line
-- ARGV[1] most     holders to drop in one go
-- ARGV[2] everyone channel of all waiters of the name, on which holders that watch listen, too
-- flags: allow-oom
-- returns how many held it
-- include: line

local most, everyone = unpack(ARGV)

local state = hold.read()
if hold.lacks_keys(state) then
  return hold.moving()
end
hold.remove_ended(state)
local held = hold.given(SHARERS) and redis.call('ZRANGE', SHARERS, '0', most - 1) or {}
if state.writer then
  held[#held + 1] = state.writer.token
end
for _, token in ipairs(held) do
  hold.remove(state, token)
end
line.hand_over(state)
hold.settle(state)
if held[1] then
  waiters.publish(everyone, 'broken')
end
return state.failure or #held
