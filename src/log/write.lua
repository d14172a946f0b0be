-- log/write: messages of one log, into the recent ones and into the tables of this hour.
-- KEYS[1...] four for each severity that occurs:
--   recent  stream: m, the message
--   hour    hash: hour, other, last_hour, last_other
--   this    sorted set: the messages of this hour by how often they occurred
--   last    sorted set: those of the hour before
-- ARGV[1] keep      recent messages of each severity
-- ARGV[2] distinct  messages of a table
-- ARGV[3] ttl       ms until recent messages expire; 0: they stay
-- ARGV[4...] two for each message: which of the severities, from 1, and the message
-- returns 1
-- include: tables
local keep, distinct, ttl = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local now = clock_us()
local hour = hour_at(now)

local PLACES = 1000 -- in the id, for the entries of one microsecond

-- Adds an entry to the recent ones. Its id is the time, to the microsecond, and its number in the
-- batch, so that entries of several severities can be put in order. When the clock was set back that
-- is not possible: then the server makes an id behind the newest.
local function append(stream, number, message)
  local id = string.format('%d-%d', to_ms(now), now % US_PER_MS * PLACES + number)
  local added = redis.pcall('XADD', stream, 'MAXLEN', keep, id, 'm', message)
  if type(added) == 'table' and string.find(added.err, 'equal or smaller', 1, true) then
    added = redis.pcall('XADD', stream, 'MAXLEN', keep, '*', 'm', message)
  end
  if type(added) == 'table' then
    error(added)
  end
end

-- Makes this hour's table last hour's, or drops both, as the time says.
local function turn(severity)
  local keys, age = severity.keys, severity.age
  if age == 'this' then
    return
  end
  if age == 'last' and severity.size > 0 then
    redis.call('UNLINK', keys.last) -- RENAME would free it at once
    redis.call('RENAME', keys.this, keys.last)
    redis.call('EXPIREAT', keys.last, end_of_last(hour))
  else
    redis.call('UNLINK', keys.this, keys.last)
  end
  redis.call('HSET', keys.hour, 'hour', string.format('%d', hour), 'other', '0',
             'last_hour', string.format('%d', age == 'last' and severity.hour or hour - 1),
             'last_other', string.format('%d', age == 'last' and severity.other or 0))
  redis.call('EXPIREAT', keys.hour, end_of_this(hour))
  severity.hour, severity.other, severity.size = hour, 0, 0
end

-- Makes room for one more message in the table. Of several that are the least frequent, any one may
-- go: were it always the first in the alphabet, that one could never become frequent.
local function evict(severity)
  local this = severity.keys.this
  local times = redis.call('ZRANGE', this, 0, 0, 'WITHSCORES')[2]
  local equals = redis.call('ZCOUNT', this, times, times)
  local place = (now + severity.other) % equals
  redis.call('ZREM', this, redis.call('ZRANGE', this, place, place)[1])
  severity.size = severity.size - 1
  severity.other = severity.other + tonumber(times)
  redis.call('HSET', severity.keys.hour, 'other', string.format('%d', severity.other))
end

local function count(severity, message, times)
  local this = severity.keys.this
  if redis.call('ZADD', this, 'XX', 'INCR', times, message) then
    return
  end
  if severity.size >= distinct then
    evict(severity)
  end
  redis.call('ZADD', this, times, message)
  severity.size = severity.size + 1
  if severity.size == 1 then
    redis.call('EXPIREAT', this, end_of_this(severity.hour))
  end
end

-- Reading first: what is in the way is found before anything is written. The stream of a lone
-- severity need not be looked at, for it is what is written first.
local PARTS = 4         -- keys of a severity
local FIRST_MESSAGE = 4 -- of the arguments
local severities = {}
for i = 1, #KEYS, PARTS do
  local recent, hour_of, this, last = unpack(KEYS, i, i + PARTS - 1)
  local severity = read_severity({recent = recent, hour = hour_of, this = this, last = last})
  severity.age = severity.hour and age_of(severity.hour, hour) or 'gone'
  if severity.age ~= 'this' then
    redis.call('ZCARD', severity.keys.last)
  end
  if #KEYS > PARTS then
    redis.call('XLEN', severity.keys.recent)
  end
  severity.times = {}
  severities[#severities + 1] = severity
end

for i = FIRST_MESSAGE, #ARGV, 2 do
  local severity, message = severities[tonumber(ARGV[i])], ARGV[i + 1]
  append(severity.keys.recent, i, message)
  severity.times[message] = (severity.times[message] or 0) + 1
end
for _, severity in ipairs(severities) do
  if ttl ~= '0' then
    redis.call('PEXPIRE', severity.keys.recent, ttl)
  else
    redis.call('PERSIST', severity.keys.recent)
  end
  turn(severity)
  for message, times in pairs(severity.times) do
    count(severity, message, times)
  end
end
return 1
