-- queue/levels: how many jobs of each priority are ready.
-- KEYS[1...] queue  see keys.inc.lua
-- flags: no-writes
-- returns priority and number, of each priority that has some; then priority and 1, of each job
--   that the next claim makes ready
-- include: shared/clock
-- include: upcoming

now = clock.ms()
local PRIORITIES = 2 * PRIORITY_MAX + 1

local answer = {}
local from, to = decimal.whole(-PRIORITY_MAX * LEVEL), decimal.whole((PRIORITY_MAX + 1) * LEVEL)
for _ = 1, PRIORITIES do
  local first, score = unpack(redis.call('ZRANGE', READY, from, to, 'BYSCORE', 'LIMIT', 0, 1,
                                         'WITHSCORES'))
  if not first then
    break
  end
  local priority = math.floor(score / LEVEL)
  from = decimal.whole((priority + 1) * LEVEL)
  answer[#answer + 1] = priority
  answer[#answer + 1] = redis.call('ZCOUNT', READY, decimal.whole(priority * LEVEL), '(' .. from)
end
for _, job in ipairs(upcoming.ready()) do
  answer[#answer + 1] = math.floor(job.score / LEVEL)
  answer[#answer + 1] = 1
end
return answer
