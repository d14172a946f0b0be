-- search/create: make the index, unless it is there.
-- KEYS[1] meta        hash: token and the settings; counters
-- ARGV[1] token       of the index, if it is made
-- ARGV[2...] settings  name, value, name, value ...
-- returns the token and then the values as they are stored; the token is '' while the index is
--   being dropped

local META = KEYS[1]

local names = {'token'}
for i = 2, #ARGV, 2 do
  names[#names + 1] = ARGV[i]
end
local stored = redis.call('HMGET', META, unpack(names))
if stored[1] then
  return stored
end
redis.call('HSET', META, 'token', unpack(ARGV))
return redis.call('HMGET', META, unpack(names))
