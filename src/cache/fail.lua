-- cache/fail: give the lease back without a value.
-- KEYS[1...] value  see keys.inc.lua
-- ARGV[1] token     of the caller
-- ARGV[2] pause     ms before it is computed again, if there is an old value
-- ARGV[3] news      for the waiters: 'failed', or 'ready': one of them computes it
-- flags: allow-oom
-- returns 1; 0: the lease was lost
-- include: keys

local token, pause, news = unpack(ARGV)

if redis.call('GET', LEASE) ~= token then
  return 0
end
if news == 'failed' and redis.call('EXISTS', ENTRY) == 1 then
  redis.call('SET', LEASE, 'failed', 'PX', pause)
else
  redis.call('DEL', LEASE)
end
keys.notify(news)
return 1
