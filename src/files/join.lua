-- files/join: a process begins to receive under a name, renews its lease, or leaves.
-- KEYS[1...] channel  see keys.inc.lua
-- ARGV[1] receiver
-- ARGV[2] holder  of the process: its turn, and random digits
-- ARGV[3] lease   ms; '0': it leaves
-- ARGV[4] renew   '1': only if this process is still the holder
-- flags: allow-oom
-- returns code: TKL_NOTOWNER another process receives under this name, or it was dropped
-- include: shared/clock
-- include: keys
-- include: records
-- include: holders
-- include: turns

local receiver, holder, lease, renew = unpack(ARGV)

local now = clock.ms()
local is_lost = renew == '1' and not holders.is_current(receiver, holder)
if is_lost or holders.is_stale(receiver, holder) then
  return TKL_NOTOWNER
end
turns.note(holder)
redis.call('HSET', HOLDERS, receiver, holder)
redis.call('ZADD', RECEIVERS, now + lease, receiver)
redis.call('PEXPIRE', HOLDERS, KEPT_MS)
for _, key in ipairs({RECEIVERS, STATE}) do
  if redis.call('PTTL', key) < KEPT_MS then
    redis.call('PEXPIRE', key, KEPT_MS)
  end
end
return TKL_OK
