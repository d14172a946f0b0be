-- board/rank: some members, the best first.
-- KEYS[1] settings  hash, see board.c
-- KEYS[2] ranks
-- KEYS[3] members
-- ARGV[1] shape
-- ARGV[2] start     of the season, as the client thinks, in ms
-- ARGV[3] till      the end of it; '0': the client chose the season
-- ARGV[4...] members  those named twice are listed once
-- flags: no-writes
-- returns {code, now, number of members, -1, then stamp and member, score and rank from 0 of each
--   that is on the board}
-- include: board

local FIRST = 4 -- index of the first member in the arguments
local shape, start, till = unpack(ARGV)

local now = clock.us()
local refusal = board.refusal(now, shape, start, till)
if refusal then
  return refusal
end
local answer = {TKL_OK, clock.to_ms(now), redis.call('ZCARD', RANKS), -1}
local members = {unpack(ARGV, FIRST)}
local found, listed = {}, {}
for i, value in ipairs(redis.call('HMGET', MEMBERS, unpack(members))) do
  local stamp, score = board.parse(value)
  local element = stamp and board.element(stamp, members[i])
  local rank = stamp and redis.call('ZRANK', RANKS, element)
  if rank and not listed[element] then
    listed[element] = true
    found[#found + 1] = {element = element, score = score, rank = rank}
  end
end
table.sort(found, function(a, b) return a.rank < b.rank end)
for _, one in ipairs(found) do
  answer[#answer + 1] = one.element
  answer[#answer + 1] = decimal.exact(one.score)
  answer[#answer + 1] = one.rank
end
return answer
