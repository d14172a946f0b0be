-- queue/due: read schedules that are due, for the consumer that fires them.
-- KEYS[1...] queue   see keys.inc.lua
-- ARGV[1...] ids     of the schedules
-- flags: allow-oom
-- returns {now, the beginning of each, which may end within its record; '' for one that is gone}
-- include: shared/clock
-- include: schedules

local BEGINNING = 512 -- bytes: the longest beginning

local answer = {clock.ms()}
for i, id in ipairs(ARGV) do
  local schedule = redis.call('HGET', SCHEDULES, id)
  answer[i + 1] = string.sub(schedule or '', 1, BEGINNING)
  if not schedule then
    redis.call('ZREM', DELAYED, schedules.timer(id))
  end
end
return answer
