-- queue/leave: a waiter gives up its place in the line; or learns what it was given.
-- KEYS[1] meta      hash; see queue.c for all of them
-- KEYS[2] jobs      hash
-- KEYS[3] ready     zset
-- KEYS[4] delayed   zset
-- KEYS[5] active    zset
-- KEYS[6] extras    hash
-- KEYS[7] waiters   zset
-- ARGV[1] token
-- ARGV[2] lease     milliseconds
-- ARGV[3] channel   where it listens
-- returns {now, ids, records, extras}
-- include: clock

local ids, records, extras = {}, {}, {}
local me = ARGV[1] .. ' ' .. ARGV[2] .. ' ' .. ARGV[3]
if redis.call('ZREM', KEYS[7], me) == 0 then
  -- include: given
  -- include: records
end
if not ids[1] then -- nor did it come for what it was told to fetch
  -- include: gate
  -- include: first
  local soonest = rules[8] == me and till -- it had promised to look
  -- include: serve
  -- include: spend
  -- include: appoint
end
return {now, ids, records, extras}
