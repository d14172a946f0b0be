-- stats/record: add values of one context, which the caller has summed up, to this hour or the
-- last.
-- KEYS[1...] type  see keys.inc.lua
-- ARGV[1] context
-- ARGV[2] ranked  contexts kept in the ranking
-- ARGV[3] at      ms, when it happened; '' for now
-- ARGV[4] count   of the values
-- ARGV[5] mean
-- ARGV[6] m2      sum of the squared distances from the mean
-- ARGV[7] min
-- ARGV[8] max
-- ARGV[9] sum
-- ARGV[10] sumsq  sum of the squares
-- ARGV[11...] buckets  two for each bucket: its name, and how many of the values are in it
-- returns {count and sum of the context, count and sum of all contexts}, in that hour; or a number
--   when `at` is neither in this hour nor in the last: TKL__AT_OLD, TKL__AT_FUTURE
-- include: keys
-- include: shared/hours
-- include: values

local FIRST_BUCKET = 11 -- index of the first bucket in the arguments
local NUMBERS = {'hour', 'count', 'mean', 'm2', 'min', 'max', 'sum', 'sumsq'}
local TOTALS = {'hour', 'count', 'sum', 'last_hour', 'last_count', 'last_sum'}
local TRIMMED = 100 -- contexts that one call removes from the ranking when others kept more

local context, ranked, at, count, mean, m2, min, max, sum, sumsq = unpack(ARGV, 1, FIRST_BUCKET - 1)
local now = clock.us()
local this_hour = hours.at(now)
local hour, wrong = hours.of_event(at, now)
if wrong then
  return wrong
end

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
local all = values.read_named(TOTAL, TOTALS, {})
-- An empty hash has no hour: 0 would be the first hour of 1970.
local own_age = own.count > 0 and hours.age(own.hour, this_hour) or 'gone'
local all_age = all.count > 0 and hours.age(all.hour, this_hour) or 'gone'
local own_turns = hours.begins(hour, this_hour, own_age)
local all_begins = hours.begins(hour, this_hour, all_age)
local own_key, rank, prefix = THIS, RANK, '' -- names of the hour's numbers in TOTAL
if hours.is_for_last(hour, this_hour, own_age) then
  own_key = LAST
  own, counts = values.read_named(LAST, NUMBERS, buckets)
elseif own_turns then
  redis.call('HLEN', LAST)
end
if hours.is_for_last(hour, this_hour, all_age) then
  rank, prefix = RANK_LAST, 'last_'
  all = {hour = all.last_hour, count = all.last_count, sum = all.last_sum}
end
if all_begins or rank == RANK_LAST then
  redis.call('ZCARD', RANK_LAST)
end
local own_begins = own_turns or own.count == 0

-- Makes this hour's key the key of the last hour, or drops both.
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
  if redis.call('ZADD', rank, decimal.exact(own_mean), context) == 0 then
    return
  end
  local size = redis.call('ZCARD', rank)
  if size == 1 then
    redis.call('EXPIREAT', rank, hours.end_of_this(all.hour))
  elseif size > tonumber(ranked) then
    redis.call('ZREMRANGEBYRANK', rank, 0, math.min(size - ranked, TRIMMED) - 1)
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
if own_turns then
  turn(THIS, LAST, own_age)
end
redis.call('HSET', own_key, unpack(changes))
if own_begins then
  redis.call('EXPIREAT', own_key, hours.end_of_this(hour))
end
local all_count = decimal.exact(all.count + given.count)
local all_sum = decimal.exact(all.sum + given.sum)
redis.call('HSET', TOTAL, prefix .. 'count', all_count, prefix .. 'sum', all_sum)
if all_begins then
  redis.call('HSET', TOTAL, 'hour', decimal.exact(hour))
  redis.call('EXPIREAT', TOTAL, hours.end_of_this(hour))
end
return {own.count_text, own.sum_text, all_count, all_sum}
