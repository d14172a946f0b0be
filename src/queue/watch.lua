-- queue/watch: publish events for a while.
-- KEYS[1...] queue  see keys.inc.lua
-- ARGV[1] lease     milliseconds
-- flags: allow-oom
-- returns TKL_OK, or TKL_NOTFOUND when there is no queue
-- include: shared/clock
-- include: totals

local now = clock.ms()
local lease = ARGV[1]

types.check_hashes(META)
if redis.call('EXISTS', META) == 0 then
  return TKL_NOTFOUND
end
redis.call('HSET', META, 'watched', decimal.whole(now + lease))
return TKL_OK
