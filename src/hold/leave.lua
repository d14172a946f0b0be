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
-- returns {TKL_OK, fence, microseconds left, now} when it holds; else {TKL_BUSY}
local STATE, SHARERS, LINE = KEYS[1], KEYS[2], KEYS[3]
local token, mode, lease, who, client, channel = unpack(ARGV)
-- include: line

local state = read_state(read_fields())
leave_line(state, token, place(token, mode, lease, client, who, channel))
drop_ended(state)
hand_over(state)
local mine = find(state, token)
if not mine then
  appoint(state, first_end(state))
end
settle(state)
if mine then
  return {TKL_OK, mine.fence, mine.till - state.now, state.now}
end
return state.failure or {TKL_BUSY}
