-- book/find: entries that are equal to a query, begin with it, end with it, or contain it.
-- KEYS[1...] book   see keys.inc.lua
-- ARGV[1] settings  of the caller
-- ARGV[2] equal     bound: keys that are equal to the query begin here
-- ARGV[3] longer    bound: longer keys that begin with the query begin here
-- ARGV[4] above     bound above all of these keys
-- ARGV[5] most      members, of all groups together
-- ARGV[6...] mixes  three for each: initials, bound above them, pattern
-- flags: no-writes
-- returns for each group an array of its members, and 1 if the group was cut off, else 0; or the
--   book's settings when the caller's differ
-- include: keys
-- include: book
-- include: mixing

-- Members may be long: they are read some at a time, until there are enough bytes.
local READ_MAX = 100
local BYTES_MAX = 400000
local FIRST_MIX = 6 -- index of the first mix in the arguments
local settings, equal, longer, above, most = unpack(ARGV)

local left, bytes, cut = tonumber(most), 0, 0
local mixes, budget = mixing.read(ARGV, FIRST_MIX), {left = BUDGET}

-- The members of a key between two bounds.
local function group(key, low, high)
  local members = {}
  low = '[' .. low
  for _ = 1, math.ceil(left / READ_MAX) do
    if bytes > BYTES_MAX then
      cut = 1
      return members
    end
    local wanted = math.min(READ_MAX, left)
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

-- Adds members that fit one of the mixes, until there are enough.
local function add_mixed(members, key, entry_in, kind)
  local function take(member)
    members[#members + 1] = member
    bytes = bytes + #member
    left = left - 1
    return left > 0 and bytes <= BYTES_MAX
  end
  for _, mix in ipairs(mixes) do
    if left == 0 then
      return
    end
    if budget.left <= 0 or bytes > BYTES_MAX
      or mixing.walk(key, entry_in, mix, mix[kind], '', budget, take) then
      cut = 1
      return
    end
  end
end

local other = book.other_settings(settings)
if other then
  return other
end
local exact = group(NAMES, equal, '(' .. longer)
local prefix = group(NAMES, longer, above)
add_mixed(prefix, NAMES, mixing.entry_in_names, 'pattern')
local suffix = group(PARTS, equal, '(' .. longer)
local contains = group(PARTS, longer, above)
add_mixed(contains, PARTS, mixing.entry_in_parts, 'inside')
return {exact, prefix, suffix, contains, cut}
