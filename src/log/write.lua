-- log/write: add messages of one log to the recent ones and to the tables of their hour.
-- KEYS[1] batch      string: the last step of this batch that was written
-- KEYS[2...] five for each severity that occurs:
--   recent     stream: m, the message; t, when it happened (ms), if that was not now
--   this       sorted set: the messages of this hour by how often they occurred
--   hour       hash: hour, bound, and how often each message occurred in each ten minutes
--   last       sorted set: the same as `this`, for the hour before
--   last_hour  hash: the same as `hour`, for the hour before
-- ARGV[1] step      number of this step in its batch; '' for the last one: none comes after it
-- ARGV[2] after     the step that must be written before; '' for none
-- ARGV[3] keep      recent messages of each severity
-- ARGV[4] distinct  messages of a table
-- ARGV[5] ttl       ms until recent messages expire; 0: they stay
-- ARGV[6] at        ms, when the messages happened; '' for now
-- ARGV[7...] two for each message: the number of its severity, from 1, and the message
-- returns 1; nil, and nothing is written, when the step before was not written; TKL__AT_OLD or
--   TKL__AT_FUTURE for messages neither of this hour nor of the last
-- include: tables
-- include: shared/frequent
-- include: shared/expiry

local PLACES = 1000     -- positions in the id, for the entries of one microsecond
local PARTS = 5         -- keys of a severity
local FIRST_MESSAGE = 7 -- index of the first message in the arguments
local BATCH_MS = 60000  -- the last step of a batch is remembered for this long
local batch, step, after = KEYS[1], ARGV[1], ARGV[2]
local keep, distinct, ttl, at = ARGV[3], tonumber(ARGV[4]), ARGV[5], ARGV[6]

local now = clock.us()
local this_hour = hours.at(now)
local hour, wrong = hours.of_event(at, now)

-- Adds an entry to the recent ones. Its id is the time in microseconds and the number in the batch,
-- so that entries of several severities can be sorted. After the clock was set back that is not
-- possible: then the server makes an id behind the newest.
local function append(stream, number, message)
  local id = string.format('%d-%d', clock.to_ms(now), now % US_PER_MS * PLACES + number)
  local fields = at == '' and {'m', message} or {'m', message, 't', at}
  local added = redis.pcall('XADD', stream, 'MAXLEN', keep, id, unpack(fields))
  if type(added) == 'table' and string.find(added.err, 'equal or smaller', 1, true) then
    added = redis.pcall('XADD', stream, 'MAXLEN', keep, '*', unpack(fields))
  end
  if type(added) == 'table' then
    error(added)
  end
end

-- Renames a key of this hour to that of the last hour. RENAME alone would free the old key at once,
-- which takes long.
local function move(from, to)
  redis.call('UNLINK', to)
  redis.call('RENAME', from, to)
  redis.call('EXPIREAT', to, hours.end_of_last(hour))
end

-- Makes this hour's table the last hour's, or drops both, depending on the time.
local function turn(keys, age, size)
  if age == 'last' and size > 0 then
    move(keys.this, keys.last)
    move(keys.hour, keys.last_hour)
  else
    redis.call('UNLINK', keys.this, keys.hour, keys.last, keys.last_hour)
  end
end

-- Begins the table of the messages' hour, if there is none.
local function begin_hour(severity)
  if severity.turns then
    turn(severity.keys, severity.age, severity.size)
    severity.size = 0
  elseif severity.hour then
    return
  end
  redis.call('HSET', severity.hash, 'hour', decimal.whole(hour), 'bound', '0')
  redis.call('EXPIREAT', severity.hash, hours.end_of_this(hour))
  severity.hour, severity.bound = hour, 0
end

local function add(a, b)
  return a + b
end

-- Counts the messages of the batch in the table of their hour.
local function count(severity)
  local set, hash, bound = severity.set, severity.hash, severity.bound
  local moment = at == '' and now or math.min(at * US_PER_MS, now)
  local slice = tables.slice_at(moment, severity.hour)
  for message, times in pairs(severity.times) do
    local removed = {}
    if not redis.call('ZADD', set, 'XX', 'INCR', times, message) then
      bound, removed = frequent.give_place(set, message, times, distinct, bound, add)
    end
    for _, other in ipairs(removed) do
      redis.call('HDEL', hash, unpack(tables.fields_of(other)))
    end
    redis.call('HINCRBY', hash, tables.field_of(slice, message), times)
  end
  if bound > severity.bound then
    redis.call('HSET', hash, 'bound', decimal.whole(bound))
  end
  if severity.size == 0 then
    redis.call('EXPIREAT', set, hours.end_of_this(severity.hour))
  end
end

if after ~= '' and redis.call('GET', batch) ~= after then
  return nil
end
if wrong then
  return wrong
end

-- Reads all keys first: a key of another type ends the script before anything is written. The
-- stream of a single severity needs no check, because it is written first.
local severities = {}
for i = 2, #KEYS, PARTS do
  local recent, this, hour_of, last, last_hour = unpack(KEYS, i, i + PARTS - 1)
  local severity = tables.read_hour(hour_of)
  local age = severity.hour and hours.age(severity.hour, this_hour) or 'gone'
  local turns, set, hash = hours.begins(hour, this_hour, age), this, hour_of
  if hours.is_for_last(hour, this_hour, age) then
    severity, set, hash = tables.read_hour(last_hour), last, last_hour
  elseif turns then
    redis.call('ZCARD', last)
    redis.call('HLEN', last_hour)
  end
  severity.keys = {recent = recent, this = this, hour = hour_of, last = last, last_hour = last_hour}
  severity.set, severity.hash = set, hash -- the table that counts the messages
  severity.size, severity.age, severity.turns = redis.call('ZCARD', set), age, turns
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
  begin_hour(severity)
  count(severity)
end
if step ~= '' then
  redis.call('SET', batch, step, 'PX', BATCH_MS)
end
return 1
