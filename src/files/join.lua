-- files/join: a process receives under a name, or goes on doing so, or leaves.
-- KEYS[1] receivers  zset; see files.c for all of them
-- KEYS[2] holders    hash
-- ARGV[1] receiver
-- ARGV[2] holder  of the process: its turn, and random digits
-- ARGV[3] lease   ms; '0': it leaves
-- ARGV[4] renew   '1': only if it is still this process
-- returns code: TKL_NOTOWNER another process receives under this name, or it was dropped
-- include: clock
local now = server_time()
local RECEIVERS, HOLDERS = unpack(KEYS)
-- include: codes
-- include: file
-- include: holder

local KEPT_MS = 30 * 86400000 -- 30 days

local receiver, holder, lease, renew = unpack(ARGV)
if renew == '1' and not holds(receiver, holder) or is_stale(receiver, holder) then
  return NOTOWNER
end
permit_writes(HOLDERS) -- a receiver makes room
redis.call('HSET', HOLDERS, receiver, holder)
redis.call('ZADD', RECEIVERS, now + lease, receiver)
redis.call('PEXPIRE', HOLDERS, KEPT_MS)
if redis.call('PTTL', RECEIVERS) < KEPT_MS then
  redis.call('PEXPIRE', RECEIVERS, KEPT_MS)
end
return OK
