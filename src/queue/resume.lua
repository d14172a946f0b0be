-- queue/resume: give jobs again, to those who wait first.
-- KEYS[1] meta
-- KEYS[2] jobs
-- KEYS[3] ready
-- KEYS[4] delayed
-- KEYS[5] active
-- KEYS[6] extras
-- KEYS[7] waiters
-- returns 0
-- include: clock
-- include: sound
-- include: sound_claims

local waiting = redis.call('ZCARD', KEYS[7])
redis.call('HDEL', KEYS[1], 'paused')
-- include: held
if waiting > 0 then
  -- include: gate
  -- include: first
  local soonest = till
  -- include: serve
  -- include: spend
  -- include: appoint
end
return 0
