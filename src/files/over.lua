-- files/over: a call is over, and what it has sent need not be remembered. For a while it is, under
-- another key: the same call of another process may still wait for the same files.
-- KEYS[1...] channel  see keys.inc.lua; then what the call has sent, and the same when it is
--   over
-- ARGV[1] kept  ms
-- flags: allow-oom
-- returns '1' it was remembered
-- include: keys

local SENT, OVER = unpack(KEYS, CHANNEL_KEYS + 1)
local kept = ARGV[1]

if redis.call('EXISTS', SENT) == 0 then
  return 0
end
redis.call('RENAME', SENT, OVER)
redis.call('PEXPIRE', OVER, kept)
return 1
