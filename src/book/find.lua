-- book/find: equal, beginning so, ending so, containing it, in this order.
-- KEYS[1] meta      hash: settings
-- KEYS[2] names     sorted set by bytes
-- KEYS[3] parts     sorted set by bytes
-- ARGV[1] settings  of the caller
-- ARGV[2] equal     bound: keys that are equal begin here
-- ARGV[3] longer    bound: keys that begin so begin here
-- ARGV[4] above     bound: above all of them
-- ARGV[5] most      members, of all groups together
-- returns an array of members for each group, or the book's settings when they are others

local META, NAMES, PARTS = KEYS[1], KEYS[2], KEYS[3]
local settings, equal, longer, above, most = unpack(ARGV)
local stored = redis.call('HGET', META, 'settings')
if stored and stored ~= settings then
  return stored
end

local left = tonumber(most)
local function group(key, low, high)
  local members = redis.call('ZRANGE', key, '[' .. low, high, 'BYLEX', 'LIMIT', 0, left)
  left = left - #members
  return members
end
return {
  group(NAMES, equal, '(' .. longer),
  group(NAMES, longer, above),
  group(PARTS, equal, '(' .. longer),
  group(PARTS, longer, above),
}
