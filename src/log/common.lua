-- log/common: the most frequent messages of this hour or of the last.
-- KEYS[1] recent  of the severity, as all of them: see log/write
-- KEYS[2] hour
-- KEYS[3] this
-- KEYS[4] last
-- ARGV[1] which  this or last
-- ARGV[2] skip   messages that are known already
-- ARGV[3] max    messages behind them
-- returns {hour, other, 1 when there are more, and message, times of each}
-- include: tables
local _, HOUR_OF, THIS, LAST = unpack(KEYS)
local which, skip, max = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

-- One answer has about so many bytes of messages.
local BYTES, AT_ONCE = 524288, 10

local hour = hour_at(clock_us())

local severity = read_severity({hour = HOUR_OF, this = THIS, last = LAST})
local age = severity.hour and age_of(severity.hour, hour) or 'gone'
local table_key, of_hour, other = nil, which == 'this' and hour or hour - 1, 0
if age == which then
  table_key, of_hour, other = severity.keys.this, severity.hour, severity.other
elseif age == 'this' then -- and last hour's is asked for
  table_key, other = severity.keys.last, severity.last_other
  of_hour = severity.last_hour or hour - 1
end

local found, more = {}, 0

-- Adds the messages from this rank to that one; returns their bytes, and whether these were all.
local function add(first, last)
  local bytes, some = 0, redis.call('ZREVRANGE', table_key, first, last, 'WITHSCORES')
  for i = 1, #some, 2 do
    local message, times = some[i], some[i + 1]
    found[#found + 1] = message
    found[#found + 1] = times
    bytes = bytes + #message
  end
  return bytes, #some < 2 * (last - first + 1)
end

-- At most `max` rounds, which the caller has checked.
local bytes, first, behind = 0, skip, skip + max
while table_key and first < behind do
  local last = math.min(behind, first + AT_ONCE) - 1
  local added, were_all = add(first, last)
  bytes, first = bytes + added, last + 1
  if were_all then
    break
  elseif bytes >= BYTES then
    more = first < behind and 1 or 0
    break
  end
end
local answer = {of_hour, other, more}
for _, part in ipairs(found) do
  answer[#answer + 1] = part
end
return answer
