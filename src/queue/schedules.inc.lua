-- Schedules: SCHEDULES has "next last definition" of each, see schedule.h. DELAYED has
-- its next time.
-- include: totals

local schedules = {}

-- The member of DELAYED for a schedule: see jobs.read_delayed().
function schedules.timer(id)
  return 'schedule:' .. id
end

-- A schedule as it is stored.
function schedules.text(next_time, last_time, definition)
  return next_time .. ' ' .. last_time .. ' ' .. definition
end

-- The time at which a schedule last fired, and its definition; nil for any other text.
function schedules.read(schedule)
  return string.match(schedule, '^%d+ (%d+) (.*)$')
end
