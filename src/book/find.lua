-- book/find: equal, beginning so, ending so, containing it, in this order.
-- KEYS[1] meta      hash: settings
-- KEYS[2] names     sorted set by bytes
-- KEYS[3] parts     sorted set by bytes
-- ARGV[1] settings  of the caller
-- ARGV[2] equal     bound: keys that are equal begin here
-- ARGV[3] longer    bound: keys that begin so begin here
-- ARGV[4] above     bound: above all of them
-- ARGV[5] most      members, of all groups together
-- returns an array of members for each group and 1 if they were cut off, else 0; or the book's
--   settings when they are others

local META, NAMES, PARTS = KEYS[1], KEYS[2], KEYS[3]
local settings, equal, longer, above, most = unpack(ARGV)
local stored = redis.call('HGET', META, 'settings')
if not stored and redis.call('ZCARD', NAMES) > 0 then
  return redis.error_reply('DAMAGED part of this book is gone from the server')
end
if stored and stored ~= settings then
  return stored
end

-- Members may be long: they are read some at a time, until there are enough bytes.
local SOME = 100
local BYTES_MAX = 400000

local left, bytes, cut = tonumber(most), 0, 0
local function group(key, low, high)
  local members = {}
  low = '[' .. low
  for _ = 1, math.ceil(left / SOME) do
    if bytes > BYTES_MAX then
      cut = 1
      return members
    end
    local wanted = math.min(SOME, left)
    local some = redis.call('ZRANGE', key, low, high, 'BYLEX', 'LIMIT', 0, wanted)
    for _, member in ipairs(some) do
      members[#members + 1] = member
      bytes = bytes + #member
    end
    left = left - #some
    if #some < wanted then
      return members
    end
    low = '(' .. some[#some]
  end
  return members
end

local exact = group(NAMES, equal, '(' .. longer)
local prefix = group(NAMES, longer, above)
local suffix = group(PARTS, equal, '(' .. longer)
local contains = group(PARTS, longer, above)
return {exact, prefix, suffix, contains, cut}
