-- A request that was seen before is answered as it was then; see "Lost answers" in queue.c. ARGV[1] is
-- its lane, ARGV[2] its number.

local WINDOW = 600000
local window = math.floor(now / WINDOW)
local here, there = KEYS[8 + window % 2], KEYS[9 - window % 2]
local seen = redis.call('HGET', here, ARGV[1]) or redis.call('HGET', there, ARGV[1])
if seen then
  local number, answer = string.match(seen, '^(%S+) (.*)$')
  if number == ARGV[2] then
    return answer
  elseif tonumber(number) > tonumber(ARGV[2]) then
    return '0 0' -- on its way for so long that nobody waits for the answer
  end
end
