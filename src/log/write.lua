-- log/write: add messages of one log to the recent ones and to the tables of this hour.
-- KEYS[1] batch      string: the last step of this batch that was written
-- KEYS[2...] five for each severity that occurs:
--   recent     stream: m, the message
--   this       sorted set: the messages of this hour by how often they occurred
--   hour       hash: hour, bound, and how often each message occurred in each ten minutes
--   last       sorted set: this of the hour before
--   last_hour  hash: hour of the hour before
-- ARGV[1] step      number of this step in its batch; '' for the last one: none comes after it
-- ARGV[2] after     the step that must be written before; '' for none
-- ARGV[3] keep      recent messages of each severity
-- ARGV[4] distinct  messages of a table
-- ARGV[5] ttl       ms until recent messages expire; 0: they stay
-- ARGV[6...] two for each message: which of the severities, from 1, and the message
-- returns 1; nil, and nothing is written, when the step before was not written
-- include: tables
-- include: shared/frequent
-- include: shared/expiry

local PLACES = 1000     -- positions in the id, for the entries of one microsecond
local PARTS = 5         -- keys of a severity
local FIRST_MESSAGE = 6 -- index of the first message in the arguments
local BATCH_MS = 60000  -- the last step of a batch is remembered for this long
local batch, step, after = KEYS[1], ARGV[1], ARGV[2]
local keep, distinct, ttl = ARGV[3], tonumber(ARGV[4]), ARGV[5]

local now = clock.us()
local hour = hours.at(now)

-- Adds an entry to the recent ones. Its id is the time in microseconds and the number in the batch,
-- so that entries of several severities can be sorted. After the clock was set back that is not
-- possible: then the server makes an id behind the newest.
local function append(stream, number, message)
  local id = string.format('%d-%d', clock.to_ms(now), now % US_PER_MS * PLACES + number)
  local added = redis.pcall('XADD', stream, 'MAXLEN', keep, id, 'm', message)
  if type(added) == 'table' and string.find(added.err, 'equal or smaller', 1, true) then
    added = redis.pcall('XADD', stream, 'MAXLEN', keep, '*', 'm', message)
  end
  if type(added) == 'table' then
    error(added)
  end
end

-- Replaces a key of last hour by that of this hour. RENAME alone would free the old key at once.
local function move(from, to)
  redis.call('UNLINK', to)
  redis.call('RENAME', from, to)
  redis.call('EXPIREAT', to, hours.end_of_last(hour))
end

-- Makes this hour's table the last hour's, or drops both, depending on the time.
local function turn(severity)
  local keys, age = severity.keys, severity.age
  if age == 'this' then
    return
  end
  if age == 'last' and severity.size > 0 then
    move(keys.this, keys.last)
    move(keys.hour, keys.last_hour)
  else
    redis.call('UNLINK', keys.this, keys.hour, keys.last, keys.last_hour)
  end
  redis.call('HSET', keys.hour, 'hour', decimal.whole(hour), 'bound', '0')
  redis.call('EXPIREAT', keys.hour, hours.end_of_this(hour))
  severity.hour, severity.bound, severity.size = hour, 0, 0
end

local function add(a, b)
  return a + b
end

-- Counts the messages of the batch in the tables of this hour.
local function count(severity)
  local this, hour_of, bound = severity.keys.this, severity.keys.hour, severity.bound
  local slice = tables.slice_at(now, severity.hour)
  for message, times in pairs(severity.times) do
    local removed = {}
    if not redis.call('ZADD', this, 'XX', 'INCR', times, message) then
      bound, removed = frequent.give_place(this, message, times, distinct, bound, add)
    end
    for _, other in ipairs(removed) do
      redis.call('HDEL', hour_of, unpack(tables.fields_of(other)))
    end
    redis.call('HINCRBY', hour_of, tables.field_of(slice, message), times)
  end
  if bound > severity.bound then
    redis.call('HSET', hour_of, 'bound', decimal.whole(bound))
  end
  if severity.size == 0 then
    redis.call('EXPIREAT', this, hours.end_of_this(severity.hour))
  end
end

if after ~= '' and redis.call('GET', batch) ~= after then
  return nil
end

-- Reads all keys first: a key of another type ends the script before anything is written. The
-- stream of a single severity needs no check, because it is written first.
local severities = {}
for i = 2, #KEYS, PARTS do
  local recent, this, hour_of, last, last_hour = unpack(KEYS, i, i + PARTS - 1)
  local severity = tables.read_hour(hour_of)
  severity.keys = {recent = recent, this = this, hour = hour_of, last = last, last_hour = last_hour}
  severity.size = redis.call('ZCARD', this)
  severity.age = severity.hour and hours.age(severity.hour, hour) or 'gone'
  if severity.age ~= 'this' then
    redis.call('ZCARD', severity.keys.last)
    redis.call('HLEN', severity.keys.last_hour)
  end
  if #KEYS > 1 + PARTS then
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
  expiry.set(severity.keys.recent, ttl)
  turn(severity)
  count(severity)
end
if step ~= '' then
  redis.call('SET', batch, step, 'PX', BATCH_MS)
end
return 1
