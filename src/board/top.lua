-- board/top: the members of some ranks.
-- KEYS[1] settings  hash, see board.c
-- KEYS[2] ranks
-- KEYS[3] members
-- ARGV[1] shape
-- ARGV[2] start     of the season, as the client thinks, in ms
-- ARGV[3] till      the end of it; '0': the client chose the season
-- ARGV[4] first     rank, from 0
-- ARGV[5] count
-- flags: no-writes
-- returns {code, now, number of members, first rank, then stamp and member, score, ...}
-- include: board

local shape, start, till, first, count = unpack(ARGV)

local now = clock.us()
local refusal = board.refusal(now, shape, start, till)
if refusal then
  return refusal
end
local answer = {TKL_OK, clock.to_ms(now), redis.call('ZCARD', RANKS), tonumber(first)}
if count == '0' then
  return answer
end
return board.append_page(answer, first, first + count - 1)
