-- Schedules: SCHEDULES has "next last definition" of each, see schedule.h. It stands in DELAYED with
-- its next time.
-- include: keys

-- Its member of DELAYED: see read_delayed().
local function schedule_timer(id)
  return 'schedule:' .. id
end

local function schedule_text(next_time, last_time, definition)
  return next_time .. ' ' .. last_time .. ' ' .. definition
end

-- When it was fired last, and its definition; nil when there is none.
local function read_schedule(schedule)
  return string.match(schedule, '^%d+ (%d+) (.*)$')
end
