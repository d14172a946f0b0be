-- cache/store: store what the holder of the lease has computed.
-- KEYS[1...] value  see keys.inc.lua
-- ARGV[1] token     of the caller; '': store it in any case, a lease that is held ends
-- ARGV[2] entry
-- ARGV[3] px        ms until it expires; '0': it is not kept
-- returns 1; 0: the lease was lost, or the value dropped: nothing is stored
-- include: keys

local token, entry, px = unpack(ARGV)

if token ~= '' and redis.call('GET', LEASE) ~= token then
  return 0
end
if px ~= '0' then
  redis.call('SET', ENTRY, entry, 'PX', px)
end
redis.call('DEL', LEASE)
keys.notify('ready')
return 1
