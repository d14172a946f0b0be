-- bloom/add: add items to the newest sub-filter, unless an older one has them.
-- KEYS[1] meta         hash
-- KEYS[2...] parts     strings: all parts in which these items have bits
-- ARGV[1] version      of the shape for which the positions were computed
-- ARGV[2] field        of the newest sub-filter's count in meta
-- ARGV[3] capacity     of the newest sub-filter
-- ARGV[4] subfilters   how many there are
-- ARGV[5] lifetime     of a part that is made, in milliseconds; 0: for ever
-- ARGV[6...] numbers   the bytes of each part; for each sub-filter, the oldest first, how many
--   groups of bits an item has there, and the number of bits of each group; then for each item,
--   sub-filter and group: the number of the part among KEYS, and the bits
-- returns TKL_NOTFOUND or TKL_BUSY (another shape); else a code for each item, TKL_OK: new,
--   TKL_EXISTS: known, TKL_FULL: refused. Items at the end may have no code: the run ended before
-- include: shared/decimal

local PARTS_MADE_MAX = 3 -- writing the zeros of a new part takes the server up to a millisecond
local ARGUMENTS = 5 -- number of arguments before the numbers
local META = KEYS[1]
local shape, count_field = ARGV[1], ARGV[2]
local capacity, subfilters, lifetime = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]

local at = ARGUMENTS         -- index of the argument that was read last
local size, missing = {}, {} -- bytes of each part, and whether it must be created
local layout = {}            -- the bits of the groups of each sub-filter
local made, added = 0, 0     -- number of created parts and added items

local function next_number()
  at = at + 1
  return tonumber(ARGV[at])
end

-- Creates a part in its full length: then the server allocates no more than that.
local function make(part)
  redis.call('SETRANGE', KEYS[part], decimal.whole(size[part] - 1), '\0')
  if lifetime ~= '0' then
    redis.call('PEXPIRE', KEYS[part], lifetime)
  end
  missing[part] = false
  made = made + 1
end

-- Whether all bits of the next item in a sub-filter are set.
local function has(groups)
  local all = true
  for _, bits in ipairs(groups) do
    local part = KEYS[next_number()]
    for i = at + 1, at + bits do
      all = all and redis.call('GETBIT', part, ARGV[i]) == 1
    end
    at = at + bits
  end
  return all
end

-- Sets all bits of the next item in a sub-filter. Returns whether all of them were set before.
local function set(groups)
  local all = true
  for _, bits in ipairs(groups) do
    local part = next_number()
    if missing[part] then
      make(part)
    end
    for i = at + 1, at + bits do
      all = redis.call('SETBIT', KEYS[part], ARGV[i], '1') == 1 and all
    end
    at = at + bits
  end
  return all
end

-- Adds the next item, if there is room. Returns its code.
local function add(room)
  local is_known = false
  for i = 1, subfilters - 1 do
    is_known = has(layout[i]) or is_known
  end
  local newest = layout[subfilters]
  if is_known or added >= room then
    return (has(newest) or is_known) and TKL_EXISTS or TKL_FULL
  end
  if set(newest) then
    return TKL_EXISTS
  end
  added = added + 1
  return TKL_OK
end

local version, count = unpack(redis.call('HMGET', META, 'version', count_field))
if version ~= shape then
  return version and TKL_BUSY or TKL_NOTFOUND
end
if not string.match(count or '', '^%d+$') then
  return redis.error_reply('DAMAGED the count of items of the filter is not a number')
end
for i = 2, #KEYS do -- also detects a key of another type before anything is written
  size[i] = next_number()
  missing[i] = redis.call('STRLEN', KEYS[i]) < size[i]
end
for i = 1, subfilters do
  layout[i] = {}
  for group = 1, next_number() do
    layout[i][group] = next_number()
  end
end
local codes = {}
while at < #ARGV and made < PARTS_MADE_MAX do
  codes[#codes + 1] = add(capacity - count)
end
if added > 0 then
  redis.call('HINCRBY', META, count_field, decimal.whole(added))
end
return codes
