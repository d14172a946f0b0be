-- queue/stats: how many jobs are where, and how long the oldest has been ready.
-- KEYS[1] meta
-- KEYS[2] jobs
-- KEYS[3] ready
-- KEYS[4] active
-- KEYS[5] dead
-- KEYS[6] parked
-- KEYS[7] flow
-- KEYS[8] waiters
-- KEYS[9] schedules
-- KEYS[10] delayed
-- returns {jobs, ready, active, dead, parked, held by a flow, waiting, schedules, oldest in
--   milliseconds, paused, pushed, done, failed, bytes}
-- include: clock
local REGION, SINCE_2020 = 2 ^ 40, 1577836800000

-- Those whose time has come are ready: the next claim sees to that. Schedules and timers are none.
local due = redis.call('ZRANGE', KEYS[10], '-inf', stamp, 'BYSCORE', 'LIMIT', 0, 200, 'WITHSCORES')
local ripe = due[1] and redis.call('ZCOUNT', KEYS[10], '-inf', stamp) or 0

-- Of each region of each priority the first is the oldest: the delayed count from their time.
local oldest, from = now, '-inf'
while from do
  local first, score = unpack(redis.call('ZRANGE', KEYS[3], from, '+inf', 'BYSCORE',
                                         'LIMIT', 0, 1, 'WITHSCORES'))
  from = first and string.format('%.0f', (math.floor(score / REGION) + 1) * REGION)
  if first then
    local delayed = math.floor(score / REGION) % 4 == 1
    local since = delayed and score % REGION + SINCE_2020
                  or math.floor(tonumber(string.sub(first, 1, 13), 16) / 1024)
    oldest = math.min(oldest, since)
  end
end

for i = 1, #due, 2 do
  if string.find(due[i], '^[@=]') then
    ripe = ripe - 1
  else
    oldest = math.min(oldest, due[i + 1])
  end
end

local answer = {redis.call('HLEN', KEYS[2])}
for i = 3, 8 do
  answer[i - 1] = redis.call('ZCARD', KEYS[i])
end
answer[2] = answer[2] + ripe
answer[8], answer[9] = redis.call('HLEN', KEYS[9]), now - oldest
local totals = redis.call('HMGET', KEYS[1], 'paused', 'pushed', 'done', 'failed', 'bytes')
for i = 1, 5 do
  answer[9 + i] = totals[i] or '0'
end
return answer
