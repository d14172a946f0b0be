-- book/complete: a range of names.
-- KEYS[1] meta      hash: settings
-- KEYS[2] names     sorted set by bytes
-- ARGV[1] settings  of the caller
-- ARGV[2] low       bound
-- ARGV[3] high      bound
-- ARGV[4] most      members
-- returns the members, or the book's settings when they are others

local META, NAMES = KEYS[1], KEYS[2]
local settings, low, high, most = unpack(ARGV)
local stored = redis.call('HGET', META, 'settings')
if stored and stored ~= settings then
  return stored
end
return redis.call('ZRANGE', NAMES, low, high, 'BYLEX', 'LIMIT', 0, most)
