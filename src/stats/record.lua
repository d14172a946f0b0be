-- stats/record: add values of one context, summed up by the caller, to this hour.
-- KEYS[1...] type  see keys.inc.lua
-- ARGV[1] context
-- ARGV[2] ranked  contexts kept in the ranking
-- ARGV[3] count   of the values
-- ARGV[4] mean
-- ARGV[5] m2      sum of the squared distances from the mean
-- ARGV[6] min
-- ARGV[7] max
-- ARGV[8] sum
-- ARGV[9] sumsq   sum of the squares
-- ARGV[10...] buckets  two for each: its name, how many of the values are in it
-- returns {count and sum of the context, count and sum of all contexts}, in this hour
-- include: keys
-- include: shared/hours
-- include: values

local FIRST_BUCKET = 10 -- index of the first bucket in the arguments
local NUMBERS = {'hour', 'count', 'mean', 'm2', 'min', 'max', 'sum', 'sumsq'}
local TRIMMED = 100 -- contexts that one call removes from the ranking when others kept more

local context, ranked, count, mean, m2, min, max, sum, sumsq = unpack(ARGV, 1, FIRST_BUCKET - 1)
local hour = hours.at(clock.us())

-- The values to record: numbers as in the hash of the context, and the number of values in each
-- bucket.
local given = {
  count = tonumber(count), mean = tonumber(mean), m2 = tonumber(m2), min = tonumber(min),
  max = tonumber(max), sum = tonumber(sum), sumsq = tonumber(sumsq),
}
local buckets, given_counts = {}, {}
for i = FIRST_BUCKET, #ARGV, 2 do
  buckets[#buckets + 1], given_counts[#given_counts + 1] = ARGV[i], ARGV[i + 1]
end

-- Reads all keys first: a key of another type ends the script before anything is written.
local own, counts = values.read_named(THIS, NUMBERS, buckets)
local all = values.read_named(TOTAL, {'hour', 'count', 'sum'}, {})
-- An empty hash has no hour: 0 would be the first hour of 1970.
local own_age = own.count > 0 and hours.age(own.hour, hour) or 'gone'
local all_age = all.count > 0 and hours.age(all.hour, hour) or 'gone'
local own_begins, all_begins = own_age ~= 'this', all_age ~= 'this'
if own_begins then
  redis.call('HLEN', LAST)
end
if all_begins then
  redis.call('ZCARD', RANK_LAST)
end

-- Makes this hour's key the last hour's, or drops both.
local function turn(this, last, age)
  if age == 'last' and redis.call('EXISTS', this) == 1 then
    redis.call('UNLINK', last) -- RENAME would free it at once
    redis.call('RENAME', this, last)
    redis.call('EXPIREAT', last, hours.end_of_last(hour))
  else
    redis.call('UNLINK', this, last)
  end
end

-- Starts a new hour of the ranking and the total.
local function turn_total()
  redis.call('ZCARD', RANK) -- fails if the key has a wrong type
  local was = all_age == 'last' and all or {hour = hour - 1, count = 0, sum = 0}
  redis.call('HSET', TOTAL, 'last_hour', decimal.exact(was.hour),
             'last_count', decimal.exact(was.count), 'last_sum', decimal.exact(was.sum))
  turn(RANK, RANK_LAST, all_age)
  all = {hour = hour, count = 0, sum = 0}
end

-- Gives the context its place in the ranking.
local function rank_context(own_mean)
  if redis.call('ZADD', RANK, decimal.exact(own_mean), context) == 0 then
    return
  end
  local size = redis.call('ZCARD', RANK)
  if size == 1 then
    redis.call('EXPIREAT', RANK, hours.end_of_this(all.hour))
  elseif size > tonumber(ranked) then
    redis.call('ZREMRANGEBYRANK', RANK, 0, math.min(size - ranked, TRIMMED) - 1)
  end
end

-- Merges the given values into the numbers of the hour (Chan's formula for mean and m2), and
-- returns the changes for HSET. Hour, min and max rarely change.
local function merge()
  local before, n, delta = own.count, own.count + given.count, given.mean - own.mean
  own.count, own.sum = n, own.sum + given.sum
  own.count_text, own.sum_text = decimal.exact(n), decimal.exact(own.sum)
  local changes = {
    'count', own.count_text, 'sum', own.sum_text, 'sumsq', decimal.exact(own.sumsq + given.sumsq),
    'mean', decimal.exact(own.mean + delta * given.count / n),
    'm2', decimal.exact(own.m2 + given.m2 + delta * delta * before * given.count / n),
  }
  local function change(field, number)
    changes[#changes + 1] = field
    changes[#changes + 1] = decimal.exact(number)
  end
  if own_begins then
    change('hour', hour)
  end
  if own_begins or own.min > given.min then
    change('min', given.min)
  end
  if own_begins or own.max < given.max then
    change('max', given.max)
  end
  for i, name in ipairs(buckets) do
    change(name, counts[i] + given_counts[i])
  end
  return changes
end

if own_begins then
  own = {count = 0, mean = 0, m2 = 0, sum = 0, sumsq = 0}
  for i = 1, #counts do
    counts[i] = 0
  end
end
local changes = merge()
if all_begins then
  turn_total()
end
rank_context(own.sum / own.count)
if own_begins then
  turn(THIS, LAST, own_age)
end
redis.call('HSET', THIS, unpack(changes))
if own_begins then
  redis.call('EXPIREAT', THIS, hours.end_of_this(hour))
end
local all_count = decimal.exact(all.count + given.count)
local all_sum = decimal.exact(all.sum + given.sum)
redis.call('HSET', TOTAL, 'count', all_count, 'sum', all_sum)
if all_begins then
  redis.call('HSET', TOTAL, 'hour', decimal.exact(hour))
  redis.call('EXPIREAT', TOTAL, hours.end_of_this(hour))
end
return {own.count_text, own.sum_text, all_count, all_sum}
