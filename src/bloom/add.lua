-- bloom/add: add items to the newest sub-filter, unless an older one has them.
-- KEYS[1] meta     hash
-- KEYS[2...] parts strings: of all sub-filters, the oldest first
-- ARGV[1] version  of the shape that the places were made for
-- ARGV[2] field    of the newest sub-filter's count in meta
-- ARGV[3] capacity of the newest sub-filter
-- ARGV[4] shape    of all sub-filters: a digit for each group, its bits: "7" or "7 65 66"
-- ARGV[5...] items each for each sub-filter and group: the number of the key, the bits
-- returns TKL_NOTFOUND, TKL_BUSY when the shape is another, or a string with a letter for each
-- item: n for new, o for old, r for refused since the newest sub-filter is full

local call, args, unpack = redis.call, ARGV, unpack
local meta = call('HMGET', KEYS[1], 'version', ARGV[2])
if meta[1] ~= ARGV[1] then
  return meta[1] and 1 or 4
end
local filters, keys = {}, {}
for filter in string.gmatch(ARGV[4], '%d+') do
  filters[#filters + 1] = {string.byte(filter, 1, -1)}
end
for i, key in ipairs(KEYS) do
  keys[tostring(i)] = key
end
local newest = table.remove(filters)
local room = ARGV[3] - meta[2]
local at = 5

-- Both go over an item's bits in one sub-filter, and say whether all are, or were, set.
local function test(groups)
  local all = true
  for g = 1, #groups do
    local key, last = keys[args[at]], at + groups[g] - 48
    for i = at + 1, last do
      all = all and call('GETBIT', key, args[i]) == 1
    end
    at = last + 1
  end
  return all
end
-- A group at a time: its bits are put into a list for BITFIELD that has room for the most, seven.
local list = {'SET', 'u1', 0, '1', 'SET', 'u1', 0, '1', 'SET', 'u1', 0, '1', 'SET', 'u1', 0, '1',
              'SET', 'u1', 0, '1', 'SET', 'u1', 0, '1', 'SET', 'u1', 0, '1'}
local function set(groups)
  local all = true
  for g = 1, #groups do
    local bits = groups[g] - 48
    list[3], list[7], list[11], list[15], list[19], list[23], list[27] =
      unpack(args, at + 1, at + 7)
    local old = call('BITFIELD', keys[args[at]], unpack(list, 1, 4 * bits))
    for i = 1, bits do
      all = all and old[i] == 1
    end
    at = at + bits + 1
  end
  return all
end

local letters, added = {}, 0
while args[at] do
  local old, letter = false, 'o'
  for f = 1, #filters do
    old = test(filters[f]) or old
  end
  if old or room <= added then
    letter = (test(newest) or old) and 'o' or 'r'
  elseif not set(newest) then
    letter, added = 'n', added + 1
  end
  letters[#letters + 1] = letter
end
if added > 0 then
  call('HINCRBY', KEYS[1], ARGV[2], added)
end
return table.concat(letters)
