-- log/common: the most frequent messages of this hour or of the last.
-- KEYS[1] hour   see log/write
-- KEYS[2] this
-- KEYS[3] last
-- ARGV[1] which  this or last
-- ARGV[2] max    messages
-- returns {hour, other, and message, times of each}
-- include: tables
local HOUR_OF, THIS, LAST = KEYS[1], KEYS[2], KEYS[3]
local which, max = ARGV[1], tonumber(ARGV[2])
local now = tonumber(redis.call('TIME')[1])
local hour = math.floor(now / HOUR)

local severity = read_severity({hour = HOUR_OF, this = THIS, last = LAST})
local age = severity.hour and age_of(severity.hour, hour) or 'gone'
local table_key, of_hour, other = nil, which == 'this' and hour or hour - 1, 0
if age == which then
  table_key, of_hour, other = severity.keys.this, severity.hour, severity.other
elseif age == 'this' then -- and last hour's is asked for
  table_key, other = severity.keys.last, severity.last_other
  of_hour = severity.last_hour or hour - 1
end

local answer = {of_hour, other}
if table_key and max > 0 then
  for _, part in ipairs(redis.call('ZREVRANGE', table_key, 0, max - 1, 'WITHSCORES')) do
    answer[#answer + 1] = part
  end
end
return answer
