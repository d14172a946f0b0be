-- queue/due: what must be known to fire schedules that are due.
-- KEYS[1] delayed    zset
-- KEYS[2] schedules  hash
-- ARGV[1...] ids     of the schedules
-- returns {now, the beginning of each: all but the end of its record; '' for one that is gone}
-- include: clock

local BEGINNING = 512
local answer = {now}
for i, id in ipairs(ARGV) do
  local value = redis.call('HGET', KEYS[2], id)
  answer[i + 1] = string.sub(value or '', 1, BEGINNING)
  if not value then
    redis.call('ZREM', KEYS[1], '@' .. id)
  end
end
return answer
