-- queue/levels: how many jobs of each priority are ready.
-- KEYS[1] ready
-- returns priority and number of each, the lowest first; there are 2001 priorities
local LEVEL = 2 ^ 42

local answer, from = {}, '-inf'
while from do
  local first, score = unpack(redis.call('ZRANGE', KEYS[1], from, '+inf', 'BYSCORE',
                                         'LIMIT', 0, 1, 'WITHSCORES'))
  local priority = first and math.floor(score / LEVEL)
  local till = first and string.format('%.0f', (priority + 1) * LEVEL)
  if first then
    answer[#answer + 1] = priority
    answer[#answer + 1] = redis.call('ZCOUNT', KEYS[1], score, '(' .. till)
  end
  from = till
end
return answer
