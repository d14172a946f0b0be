-- files/over: a call is over, and what it has sent need not be remembered. For a while it is, under
-- another key: the same call of another process may still wait for the same files.
-- KEYS[1] sent  hash; see files.c for all of them
-- KEYS[2] over  hash
-- ARGV[1] kept  ms
-- returns '1' it was remembered
local SENT, OVER = unpack(KEYS)

local kept = ARGV[1]
if redis.call('EXISTS', SENT) == 0 then
  return 0
end
redis.call('RENAME', SENT, OVER)
redis.call('PEXPIRE', OVER, kept)
return 1
