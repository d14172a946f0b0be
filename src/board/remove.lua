-- board/remove: take members off the board.
-- KEYS[1] settings  hash, see board.c
-- KEYS[2] ranks
-- KEYS[3] members
-- ARGV[1] shape
-- ARGV[2] start     of the season, as the client thinks, in ms
-- ARGV[3] till      the end of it; '0': the client chose the season
-- ARGV[4...] members
-- flags: allow-oom
-- returns {code, now, how many were on it}
-- include: board

local FIRST = 4 -- index of the first member in the arguments
local shape, start, till = unpack(ARGV)

local now = clock.us()
local refusal = board.refusal(now, shape, start, till)
if refusal then
  return refusal
end
board.count_members()
local removed = 0
for i = FIRST, #ARGV do
  local stamp = board.find(ARGV[i])
  if stamp then
    redis.call('ZREM', RANKS, board.element(stamp, ARGV[i]))
    redis.call('HDEL', MEMBERS, ARGV[i])
    removed = removed + 1
  end
end
return {TKL_OK, clock.to_ms(now), removed}
