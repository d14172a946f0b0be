-- limit/refusals: how often a limit refused, and which keys.
-- KEYS[1] counts  see limit/refuse
-- KEYS[2] keys    ditto
-- KEYS[3] before  ditto
-- flags: no-writes
-- returns {refused in this hour, refused in the last one, refused in all, allowed in all, last (ms),
--   {key, how often in both hours, ...}, those that were refused most first}
-- include: shared/hours

local COUNTS, KEYS_NOW, KEYS_BEFORE = KEYS[1], KEYS[2], KEYS[3]
local SHOWN, LOOKED_AT = 10, 30
local hour = hours.at(clock.us())
local counts = redis.call('HMGET', COUNTS, 'hour', 'refused', 'before', 'total', 'allowed', 'last')
for i = 1, #counts do
  counts[i] = decimal.read(counts[i]) or 0
end
local stored, this, last, total, allowed, at = unpack(counts)
local age = hours.age(stored, hour)

-- The sets of keys of this hour and the last.
local sets = age == 'this' and {KEYS_NOW, KEYS_BEFORE} or age == 'last' and {KEYS_NOW} or {}
local times, names = {}, {}
for i, set in ipairs(sets) do
  local found = redis.call('ZREVRANGE', set, 0, LOOKED_AT - 1, 'WITHSCORES')
  local other = sets[3 - i]
  for k = 1, #found, 2 do
    local name = found[k]
    if not times[name] then
      names[#names + 1] = name
      times[name] = found[k + 1] + (other and redis.call('ZSCORE', other, name) or 0)
    end
  end
end
table.sort(names, function(a, b)
  return times[a] > times[b] or times[a] == times[b] and a < b
end)
local most = {}
for i = 1, math.min(SHOWN, #names) do
  most[#most + 1] = names[i]
  most[#most + 1] = math.floor(math.min(times[names[i]], EXACT))
end
if age == 'last' then
  this, last = 0, this
elseif age == 'gone' then
  this, last = 0, 0
end
return {this, last, total, allowed, at, most}
