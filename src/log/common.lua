-- log/common: the most frequent messages of this hour, of the last hour, or of the end of the last.
-- KEYS[1] recent     of the severity, as are the other keys: see log/write
-- KEYS[2] this
-- KEYS[3] hour
-- KEYS[4] last
-- KEYS[5] last_hour
-- ARGV[1] which  this, last, or late: the part of the last hour that is within the last 60 minutes
-- ARGV[2] skip   messages that are known already
-- ARGV[3] max    messages behind them
-- flags: no-writes
-- returns {hour, beginning of the hour or of the 60 minutes (s), bound (see shared/frequent), 1
--   when there are more, and message, times, excess of each}; times may be 0 when `which` is late
-- include: tables

-- Limits of one reply: bytes of messages (about), and messages whose slices are looked up; each of
-- these takes some microseconds.
local BYTES, LOOKED_UP, AT_ONCE = 524288, 500, 10

local _, THIS, HOUR_OF, LAST, LAST_HOUR = unpack(KEYS)
local which, skip, max = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local now = clock.us()
local hour = hours.at(now)
local window = now / US_PER_S - HOUR -- beginning of the last 60 minutes

local found_hour, table_key, hour_key = tables.read_hour(HOUR_OF), THIS, HOUR_OF
local age = found_hour.hour and hours.age(found_hour.hour, hour) or 'gone'
local wanted = which == 'this' and 'this' or 'last'
if age == 'this' and wanted == 'last' then
  found_hour, table_key, hour_key = tables.read_hour(LAST_HOUR), LAST, LAST_HOUR
  age = found_hour.hour and 'last' or 'gone'
end
local exists = age == wanted
local of_hour = exists and found_hour.hour or wanted == 'this' and hour or hour - 1
local bound = exists and found_hour.bound or 0

-- Returns how many of the `times` of a message in the hour were within the last 60 minutes, and how
-- much too high that number may be. Occurrences in the slice where the 60 minutes begin may be
-- older; so may the count that the message took over from another one, which is in no slice.
local function times_late(message, times)
  local within, doubtful = 0, 0
  for i, value in ipairs(redis.call('HMGET', hour_key, unpack(tables.fields_of(message)))) do
    local count = value and tonumber(value) or 0
    local begins = of_hour * HOUR + (i - 1) * SLICE
    times = times - count
    if begins >= window then
      within = within + count
    elseif begins + SLICE > window then
      doubtful = count
    end
  end
  doubtful = doubtful + math.max(0, times)
  return within + doubtful, doubtful
end

local found, more = {}, 0

-- Adds the messages from one rank to another. Returns their bytes, and whether all were added.
local function add(first, last)
  local bytes, some = 0, redis.call('ZREVRANGE', table_key, first, last, 'WITHSCORES')
  for i = 1, #some, 2 do
    local message, times = some[i], tonumber(some[i + 1])
    local excess = math.min(bound, times - 1)
    bytes = bytes + #message
    if which == 'late' then
      times, excess = times_late(message, times)
    end
    found[#found + 1] = message
    found[#found + 1] = decimal.exact(times)
    found[#found + 1] = decimal.exact(excess)
  end
  return bytes, #some < 2 * (last - first + 1)
end

-- At most `max` rounds, which the caller has checked.
local bytes, first, behind = 0, skip, skip + max
while exists and first < behind do
  local last = math.min(behind, first + AT_ONCE) - 1
  local added, were_all = add(first, last)
  bytes, first = bytes + added, last + 1
  if were_all then
    break
  elseif bytes >= BYTES or which == 'late' and first - skip >= LOOKED_UP then
    more = first < behind and 1 or 0
    break
  end
end
local begins = which == 'late' and math.floor(window) or of_hour * HOUR
local answer = {of_hour, begins, bound, more}
for _, part in ipairs(found) do
  answer[#answer + 1] = part
end
return answer
