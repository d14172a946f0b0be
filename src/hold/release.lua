-- hold/release: give it back, and hand it to the next waiter.
-- KEYS[1] state     see hold/acquire
-- KEYS[2] sharers
-- KEYS[3] line
-- ARGV[1] everyone  channel of all waiters of the name
-- ARGV[2] token
-- flags: allow-oom
-- returns {TKL_OK}; {TKL_NOTOWNER} when it is not held any more
-- include: line

local everyone, token = unpack(ARGV)

local state = hold.read()
if hold.lacks_keys(state) then
  return hold.is_noted(state, token) and hold.moving() or {TKL_NOTOWNER}
elseif not hold.remove(state, token) then
  line.recall(state, everyone)
  return {TKL_NOTOWNER}
end
if state.waiters > 0 then
  hold.remove_ended(state)
  line.hand_over(state)
end
hold.settle(state)
line.recall(state, everyone)
return state.failure or {TKL_OK}
