-- Schedules: SCHEDULES has "next last definition" of each, see schedule.h. DELAYED has
-- its next time, unless it is paused.
-- include: totals

local schedules = {}

local PAUSED = '0' -- as the next time

-- The member of DELAYED for a schedule: see jobs.read_delayed().
function schedules.timer(id)
  return 'schedule:' .. id
end

-- A schedule as it is stored.
function schedules.text(next_time, last_time, definition)
  return next_time .. ' ' .. last_time .. ' ' .. definition
end

-- The next time of a schedule, when it last fired, and its definition; nil for any other text.
function schedules.read(schedule)
  return string.match(schedule or '', '^(%d+) (%d+) (.*)$')
end

-- The record of the job in a definition; nil for any other text.
function schedules.record_of(definition)
  local cron, zone, texts = string.match(definition, '^%d+ %d+ (%d+) (%d+)\n()')
  return cron and string.sub(definition, texts + cron + zone)
end
