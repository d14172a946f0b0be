-- queue/extend: make leases last from now.
-- KEYS[1] active    zset
-- KEYS[2] extras    hash
-- ARGV[1] lease     milliseconds
-- ARGV[2] progress  of the first; '' leaves it
-- ARGV[3...] claims id .. token
-- returns the places, from 0, of those that are not valid any more
-- include: clock

local held = redis.call('ZMSCORE', KEYS[1], unpack(ARGV, 3))
local till, leases, gone = string.format('%d', now + ARGV[1]), {}, {}
for i = 3, #ARGV do
  if held[i - 2] then
    leases[#leases + 1] = till
    leases[#leases + 1] = ARGV[i]
  else
    gone[#gone + 1] = i - 3
  end
end
if leases[1] then
  redis.call('PEXPIRE', KEYS[1], 1, 'GT') -- changes nothing, but lets a full server take what follows
  redis.call('ZADD', KEYS[1], 'XX', unpack(leases))
  if ARGV[2] ~= '' and held[1] then
    redis.call('HSET', KEYS[2], 'p' .. string.sub(ARGV[3], 1, 13), ARGV[2])
  end
end
return gone
