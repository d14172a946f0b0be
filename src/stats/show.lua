-- stats/show: what was recorded for a context in this hour, the last, or both.
-- KEYS[1] this  see stats/record
-- KEYS[2] last
-- ARGV[1] which  this, last or both
-- returns for each hash {number of its key, hour, {field, value, ...}}; {} instead of the fields of
--   a large hash, which the client reads itself
-- include: shared/hour
-- include: values
local THIS, LAST = KEYS[1], KEYS[2]
local which = ARGV[1]

-- Fields of a hash that pass through Lua: 7000 of them would take 5 ms, and 1 ms without.
local FIELDS_MAX = 2000

local hour = hour_at(clock_us())
local age = age_of(read_named(THIS, {'hour'}, {}).hour, hour)

local function describe(number, key)
  local is_large = redis.call('HLEN', key) > FIELDS_MAX
  return {number, exact(read_named(key, {'hour'}, {}).hour),
          is_large and {} or redis.call('HGETALL', key)}
end

local hashes = {}
if which == 'both' and age ~= 'gone' or which == age then
  hashes[1] = describe(1, THIS)
end
if which ~= 'this' and age == 'this' then
  hashes[#hashes + 1] = describe(2, LAST)
end
return hashes
