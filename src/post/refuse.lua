-- post/refuse: refuse a join by an entry in the list of a stranger, because the entry is about to
-- be removed. A join that has written this entry and is under way begins again.
-- KEYS[1...] post    see keys.inc.lua
-- ARGV[1] stranger
-- ARGV[2] listed    the time of the entry
-- flags: allow-oom
-- returns 1, or 0 when it is a member
-- include: shared/clock
-- include: keys
-- include: messages
-- include: joining

now = clock.ms()
local stranger, listed = unpack(ARGV)

messages.read() -- checks: a damaged chat must not call a member a stranger
if redis.call('ZSCORE', READERS, stranger) then
  return 0
elseif not joining.is_stale(stranger, listed) then
  redis.call('HSET', REFUSED, stranger, listed)
  redis.call('PEXPIRE', REFUSED, 2 * JOIN_WITHIN) -- the clocks of two servers may differ
end
return 1
