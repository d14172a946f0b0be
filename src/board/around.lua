-- board/around: a member, and those before and after it.
-- KEYS[1] settings  hash, see board.c
-- KEYS[2] ranks
-- KEYS[3] members
-- ARGV[1] shape
-- ARGV[2] start     of the season, as the client thinks, in ms
-- ARGV[3] till      the end of it; '0': the client chose the season
-- ARGV[4] member
-- ARGV[5] before    how many better ones, at most
-- ARGV[6] after     how many worse ones, at most
-- flags: no-writes
-- returns {code, now, number of members, first rank, then stamp and member, score, ...};
--   TKL_NOTFOUND: the member is not on the board
-- include: board

local shape, start, till, member, before, after = unpack(ARGV)

local now = clock.us()
local refusal = board.refusal(now, shape, start, till)
if refusal then
  return refusal
end
local stamp = board.find(member)
local rank = stamp and redis.call('ZRANK', RANKS, board.element(stamp, member))
if not rank then
  return {TKL_NOTFOUND, clock.to_ms(now)}
end
local first = math.max(0, rank - before)
local answer = {TKL_OK, clock.to_ms(now), redis.call('ZCARD', RANKS), first}
return board.append_page(answer, first, rank + after)
