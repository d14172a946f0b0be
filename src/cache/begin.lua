-- cache/begin: become the caller that computes a value, unless there is one.
-- KEYS[1...] value  see keys.inc.lua
-- ARGV[1] token     random, of the caller
-- ARGV[2] lease     ms after which another caller may compute it
-- ARGV[3] absent    '1': only if there is no value
-- returns {TKL_OK}: compute it; {TKL_EXISTS, the entry, its ms left}: it is there; {TKL_BUSY, ms
--   until the lease ends}: another caller computes it
-- include: keys

local token, lease, absent = unpack(ARGV)

local holder = redis.call('GET', LEASE)
if absent == '1' then
  local entry = redis.call('GET', ENTRY)
  if entry then
    return {TKL_EXISTS, entry, redis.call('PTTL', ENTRY)}
  end
end
if holder and holder ~= token then
  return {TKL_BUSY, redis.call('PTTL', LEASE)}
end
redis.call('SET', LEASE, token, 'PX', lease)
return {TKL_OK}
