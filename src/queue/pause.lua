-- queue/pause: pause the queue: give no more jobs.
-- KEYS[1...] queue  see keys.inc.lua
-- flags: allow-oom
-- returns TKL_OK
-- include: shared/clock
-- include: totals
-- include: events

now = clock.ms()

redis.call('HSET', META, 'paused', 1)
events.publish(totals.numbers(META, 'watched'), 'paused', {}, '')
return TKL_OK
