-- hold/leave: a waiter gives up its place in the line, or learns that it holds by now.
-- KEYS[1] state     see hold/acquire
-- KEYS[2] sharers
-- KEYS[3] line
-- ARGV[1] token     as given to hold/acquire, like the others
-- ARGV[2] mode
-- ARGV[3] lease
-- ARGV[4] who
-- ARGV[5] client
-- ARGV[6] channel
-- flags: allow-oom
-- returns {TKL_OK, fence, microseconds left, now} when it holds; else {TKL_BUSY}
-- include: line

local token, mode, lease, who, client, channel = unpack(ARGV)

local state = hold.read()
if hold.lacks_keys(state) then
  return hold.moving()
end
line.leave(state, token, line.place(token, mode, lease, client, who, channel))
hold.remove_ended(state)
line.hand_over(state)
local mine = hold.find(state, token)
if not mine then
  line.appoint(state, hold.first_end(state))
end
hold.settle(state)
if mine then
  return {TKL_OK, mine.fence, mine.till - state.now, state.now}
end
return state.failure or {TKL_BUSY}
