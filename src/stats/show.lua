-- stats/show: what was recorded for a context in this hour, the last, or both.
-- KEYS[1] this  see stats/record
-- KEYS[2] last
-- ARGV[1] which  this, last or both
-- returns an array of hashes: {field, value, ...}
-- include: hour
-- include: values
local THIS, LAST = KEYS[1], KEYS[2]
local which = ARGV[1]
local hour = math.floor(redis.call('TIME')[1] / HOUR)
local age = age_of(read_numbers(THIS, {'hour'})[1], hour)

local hashes = {}
if which == 'both' and age ~= 'gone' or which == age then
  hashes[1] = redis.call('HGETALL', THIS)
end
if which ~= 'this' and age == 'this' then
  hashes[#hashes + 1] = redis.call('HGETALL', LAST)
end
return hashes
