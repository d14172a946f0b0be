-- queue/levels: how many jobs of each priority are ready.
-- KEYS[1] ready
-- KEYS[2] delayed
-- KEYS[3] jobs
-- returns priority and number of each of 2001 priorities, and those that are due one by one
-- include: clock
-- include: due_jobs
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
for _, one in ipairs(due_jobs(KEYS[2], KEYS[3])) do
  answer[#answer + 1] = math.floor(one[2] / LEVEL)
  answer[#answer + 1] = 1
end
return answer
