-- stats/record: values of one context, summed up by the caller, into this hour.
-- KEYS[1] this       hash: hour, count, mean, m2, min, max, sum, sumsq, and counts of buckets
-- KEYS[2] last       the same of the hour before
-- KEYS[3] total      hash: hour, count, sum of all contexts; last_hour, last_count, last_sum
-- KEYS[4] rank       sorted set: contexts by their mean
-- KEYS[5] rank_last  the same of the hour before
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
-- include: hour
-- include: values
local THIS, LAST, TOTAL, RANK, RANK_LAST = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local context, ranked, count = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local hour = math.floor(redis.call('TIME')[1] / HOUR)

-- Reading first: what is in the way is found before anything is written.
local fields = {'hour', 'count', 'mean', 'm2', 'min', 'max', 'sum', 'sumsq'}
local FIXED = #fields
for i = 10, #ARGV, 2 do
  fields[#fields + 1] = ARGV[i]
end
local own = read_numbers(THIS, fields)
local all = read_numbers(TOTAL, {'hour', 'count', 'sum'})
local own_age, all_age = age_of(own[1], hour), age_of(all[1], hour)
if own_age ~= 'this' then
  redis.call('HLEN', LAST)
end
if all_age ~= 'this' then
  redis.call('ZCARD', RANK_LAST)
end

-- Makes what is of this hour last hour's, or drops both.
local function turn(this, last, age)
  if age == 'last' and redis.call('EXISTS', this) == 1 then
    redis.call('UNLINK', last) -- RENAME would free it at once
    redis.call('RENAME', this, last)
    redis.call('EXPIREAT', last, end_of_last(hour))
  else
    redis.call('UNLINK', this, last)
  end
end

-- The ranking and the total. The ranking is written first: its type has not been looked at.
local function turn_total()
  redis.call('ZCARD', RANK)
  turn(RANK, RANK_LAST, all_age)
  local was = all_age == 'last' and all or {hour - 1, 0, 0}
  redis.call('HSET', TOTAL, 'last_hour', exact(was[1]), 'last_count', exact(was[2]),
             'last_sum', exact(was[3]))
  all = {hour, 0, 0}
end

local TRIMMED = 100 -- at once, where others kept more

local function rank(mean)
  if redis.call('ZADD', RANK, exact(mean), context) == 0 then
    return
  end
  local size = redis.call('ZCARD', RANK)
  if size == 1 then
    redis.call('EXPIREAT', RANK, end_of_this(all[1]))
  elseif size > ranked then
    redis.call('ZREMRANGEBYRANK', RANK, 0, math.min(size - ranked, TRIMMED) - 1)
  end
end

-- Puts the values together with those of the hour (Chan's formula for mean and m2).
local function merge()
  local before, mean, m2 = own[2], tonumber(ARGV[4]), tonumber(ARGV[5])
  local delta, n = mean - own[3], before + count
  own[2] = n
  own[3] = own[3] + delta * count / n
  own[4] = own[4] + m2 + delta * delta * before * count / n
  own[7] = own[7] + ARGV[8]
  own[8] = own[8] + ARGV[9]
  for i = FIXED + 1, #fields do
    own[i] = own[i] + ARGV[2 * (i - FIXED) + 9]
  end
end

-- Writes what has changed; hour, min and max mostly have not.
local function write_own(begins)
  local changes = {}
  local function change(field, text)
    changes[#changes + 1] = field
    changes[#changes + 1] = text
  end
  if begins then
    change('hour', exact(own[1]))
  end
  if begins or own[5] > tonumber(ARGV[6]) then
    change('min', ARGV[6])
  end
  if begins or own[6] < tonumber(ARGV[7]) then
    change('max', ARGV[7])
  end
  for i = 2, #fields do
    if i ~= 5 and i ~= 6 then
      change(fields[i], exact(own[i]))
    end
  end
  redis.call('HSET', THIS, unpack(changes))
end

if own_age ~= 'this' then
  for i = 1, #own do
    own[i] = 0
  end
  own[1] = hour
end
merge()
if all_age ~= 'this' then
  turn_total()
end
rank(own[7] / own[2])
if own_age ~= 'this' then
  turn(THIS, LAST, own_age)
end
write_own(own_age ~= 'this')
if own_age ~= 'this' then
  redis.call('EXPIREAT', THIS, end_of_this(hour))
end
local all_count, all_sum = exact(all[2] + count), exact(all[3] + ARGV[8])
redis.call('HSET', TOTAL, 'count', all_count, 'sum', all_sum)
if all_age ~= 'this' then
  redis.call('HSET', TOTAL, 'hour', exact(hour))
  redis.call('EXPIREAT', TOTAL, end_of_this(hour))
end
return {exact(own[2]), exact(own[7]), all_count, all_sum}
