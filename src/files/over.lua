-- files/over: a call is over. For a short time the server still remembers under another key what
-- the call has sent: the same call of another process may still wait for the same files.
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
