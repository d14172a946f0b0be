-- hold/renew: make the lease last from now; a writer may become a reader.
-- KEYS[1] state      see hold/acquire
-- KEYS[2...] sharers, line  the keeper, whose leases do not become shorter, names the sharers for a
--   sharer only, and no line
-- ARGV[1] everyone   channel of all waiters of the name
-- ARGV[2] token
-- ARGV[3] lease      microseconds
-- ARGV[4] change     'downgrade': a writer becomes a reader; 'grow': the lease does not become
--   shorter, which the keeper asks for: its request may come later than one of the owner
-- flags: allow-oom
-- returns {TKL_OK, fence, lease, now}; {TKL_NOTOWNER} when it is not held any more
-- include: line

local everyone, token, lease, change = unpack(ARGV)

local state = hold.read()
local mine, mode = hold.find(state, token)
local downgrades = change == 'downgrade'
if downgrades and (hold.lacks_keys(state) or not hold.given(SHARERS)) or
   not mine and not hold.given(SHARERS) and hold.is_noted(state, token) then
  return hold.moving()
end
if not mine or not hold.is_live(state, mine) then
  line.recall(state, everyone)
  return {TKL_NOTOWNER}
end
local before, wanted = mine.till, state.now + lease
local grows = change == 'grow' or not hold.given(LINE) -- a shorter lease would need a message to the waiters
hold.confirm(mine, grows and math.max(before, wanted) or wanted)
if downgrades and mode == EXCLUSIVE then
  hold.remove(state, token)
  mode = SHARED
end
hold.write(state, mine, mode)
if downgrades then
  line.hand_over(state)
end
if mine.till < before then
  line.appoint(state, mine.till)
end
hold.settle(state)
return {TKL_OK, mine.fence, mine.till - state.now, state.now}
