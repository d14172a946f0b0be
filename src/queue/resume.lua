-- queue/resume: give jobs again, to the waiters first.
-- KEYS[1...] queue  see keys.inc.lua
-- returns TKL_OK
-- include: shared/clock
local now = clock_ms()
-- include: line

local waiting, meta = check_waiting(), read_meta()
redis.call('HDEL', META, 'paused')
meta.paused = nil
wake(waiting, open_gate(meta))
return TKL_OK
