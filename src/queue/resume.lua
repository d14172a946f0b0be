-- queue/resume: end the pause of the queue: give jobs again, to the waiters first.
-- KEYS[1...] queue  see keys.inc.lua
-- flags: allow-oom
-- returns TKL_OK
-- include: shared/clock
-- include: line

now = clock.ms()

local waiting, meta = line.read_waiting(), totals.read()
redis.call('HDEL', META, 'paused')
meta.paused = nil
events.publish(meta, 'resumed', {}, '')
line.wake(waiting, line.open_gate(meta))
return TKL_OK
