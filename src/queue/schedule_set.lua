-- queue/schedule_set: make or replace a schedule, unless it is there already.
-- KEYS[1...] queue    see keys.inc.lua
-- ARGV[1] id
-- ARGV[2] next        its first time
-- ARGV[3] definition  see schedule.h
-- returns 1, or 0 when nothing had to be changed
-- include: clock
local now = clock()
-- include: line
local id, next_time, definition = unpack(ARGV)

local last, old = string.match(redis.call('HGET', SCHEDULES, id) or '', '^%d+ (%d+) (.*)$')
if old == definition then
  return 0
end
local waiting, meta = check_waiting(), read_meta()
check_zsets(DELAYED)
redis.call('HSET', SCHEDULES, id, next_time .. ' ' .. (last or '0') .. ' ' .. definition)
redis.call('ZADD', DELAYED, next_time, 'schedule:' .. id)
wake(waiting, open_gate(meta))
return 1
