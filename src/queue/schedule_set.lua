-- queue/schedule_set: make or replace a schedule, unless it is there already.
-- KEYS[1] meta        hash; see queue.c for all of them
-- KEYS[2] jobs        hash
-- KEYS[3] ready       zset
-- KEYS[4] delayed     zset
-- KEYS[5] active      zset
-- KEYS[6] extras      hash
-- KEYS[7] waiters     zset
-- KEYS[8] schedules   hash
-- ARGV[1] id
-- ARGV[2] next        its first time
-- ARGV[3] definition  see schedule.c
-- returns 1, or 0 when nothing had to be changed
-- include: clock

local old = redis.call('HGET', KEYS[8], ARGV[1]) or ''
local last, definition = string.match(old, '^%d+ (%d+) (.*)$')
if definition == ARGV[3] then
  return 0
end
local waiting = redis.call('ZCARD', KEYS[7])
redis.call('ZCARD', KEYS[4]) -- whatever could be in the way is met before anything is written
redis.call('HSET', KEYS[8], ARGV[1], ARGV[2] .. ' ' .. (last or '0') .. ' ' .. ARGV[3])
redis.call('ZADD', KEYS[4], ARGV[2], '@' .. ARGV[1])
if waiting > 0 then
  local soonest = tonumber(ARGV[2])
  -- include: gate
  -- include: serve
  -- include: spend
  -- include: appoint
end
return 1
