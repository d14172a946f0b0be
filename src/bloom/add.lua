-- bloom/add: add items to the newest sub-filter, unless an older one has them.
-- KEYS[1] meta         hash
-- KEYS[2...] parts     strings: all in which these items have bits
-- ARGV[1] version      of the shape that the places were made for
-- ARGV[2] field        of the newest sub-filter's count in meta
-- ARGV[3] capacity     of the newest sub-filter
-- ARGV[4] subfilters   how many there are
-- ARGV[5] lifetime     of a part that is made, in milliseconds; 0: for ever
-- ARGV[6...] numbers   the bytes of each part; then for each item and each sub-filter, the oldest
-- first: how many groups of bits; and for each group: the number of its part among KEYS, how many
-- bits, the bits
-- returns TKL_NOTFOUND or TKL_BUSY (another shape); else a code for each item, TKL_OK: new,
-- TKL_EXISTS: known, TKL_FULL: refused. Items at the end may have none: this run has done enough
-- include: codes

local PARTS_MADE_MAX = 3 -- the zeros of a new part take the server up to a millisecond

local capacity, subfilters, lifetime = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local version, count = unpack(redis.call('HMGET', KEYS[1], 'version', ARGV[2]))
if version ~= ARGV[1] then
  return version and BUSY or NOTFOUND
end
if not string.match(count or '', '^%d+$') then
  return redis.error_reply('DAMAGED the count of items of the filter is not a number')
end

local at = 5
local function next_number()
  at = at + 1
  return tonumber(ARGV[at])
end

-- Which parts are to be made; looking also finds a key of another type before anything is written.
local size, missing = {}, {}
for i = 2, #KEYS do
  size[i] = next_number()
  missing[i] = redis.call('STRLEN', KEYS[i]) < size[i]
end

-- An item's bits in one sub-filter, a table for each group.
local function next_groups()
  local groups = {}
  for g = 1, next_number() do
    local group = {part = next_number(), bits = {}}
    for i = 1, next_number() do
      at = at + 1
      group.bits[i] = ARGV[at]
    end
    groups[g] = group
  end
  return groups
end

-- Whether all bits are set.
local function has(groups)
  for _, group in ipairs(groups) do
    local steps = {}
    for _, bit in ipairs(group.bits) do
      steps[#steps + 1] = 'GET'
      steps[#steps + 1] = 'u1'
      steps[#steps + 1] = bit
    end
    for _, value in ipairs(redis.call('BITFIELD_RO', KEYS[group.part], unpack(steps))) do
      if value == 0 then
        return false
      end
    end
  end
  return true
end

-- Makes a part in its full length, for which the server allocates exactly that.
local made = 0
local function make(part)
  redis.call('SETRANGE', KEYS[part], string.format('%d', size[part] - 1), '\0')
  if lifetime ~= '0' then
    redis.call('PEXPIRE', KEYS[part], lifetime)
  end
  missing[part] = false
  made = made + 1
end

-- Sets all bits; says whether one of them was not set.
local function set(groups)
  local is_new = false
  for _, group in ipairs(groups) do
    if missing[group.part] then
      make(group.part)
    end
    local steps = {}
    for _, bit in ipairs(group.bits) do
      steps[#steps + 1] = 'SET'
      steps[#steps + 1] = 'u1'
      steps[#steps + 1] = bit
      steps[#steps + 1] = '1'
    end
    for _, before in ipairs(redis.call('BITFIELD', KEYS[group.part], unpack(steps))) do
      is_new = is_new or before == 0
    end
  end
  return is_new
end

local room, added = capacity - count, 0

-- Adds the next item.
local function add()
  local is_known = false
  for _ = 1, subfilters - 1 do
    local older = next_groups()
    is_known = is_known or has(older)
  end
  local newest = next_groups()
  if is_known then
    return EXISTS
  end
  if added >= room then
    return has(newest) and EXISTS or FULL
  end
  if not set(newest) then
    return EXISTS
  end
  added = added + 1
  return OK
end

local codes = {}
while at < #ARGV and made < PARTS_MADE_MAX do
  codes[#codes + 1] = add()
end
if added > 0 then
  redis.call('HINCRBY', KEYS[1], ARGV[2], string.format('%d', added))
end
return codes
