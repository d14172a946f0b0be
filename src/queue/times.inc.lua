-- Times: how long jobs waited until they were claimed, and how long they ran, by kind. TIMES has
-- the number of times in each bucket, "wait:KIND:BUCKET" and "run:KIND:BUCKET", their sums in
-- microseconds, "wait:KIND:us" and "run:KIND:us", and "failed:KIND" and "lost:KIND", the attempts
-- that failed and those among them whose workers were lost. Jobs without a kind have '' as KIND.
-- Consumers count, and send their counts along now and then (tally.c). This is for operators: if a
-- key has another type, work goes on without it.
-- include: keys
-- include: shared/decimal

local times = {}

local KINDS_MAX = 64 -- kinds that are counted each on its own ...
local OTHERS = '*'   -- ... and the name under which all others are

function times.increase(field, count)
  redis.pcall('HINCRBY', TIMES, field, count)
end

-- The name under which a kind is counted.
function times.name_of(kind)
  local known = 'run:' .. kind .. ':us'
  if kind == '' or redis.pcall('HEXISTS', TIMES, known) == 1 then
    return kind
  end
  local kinds = redis.pcall('HINCRBY', TIMES, 'kinds', 1)
  if type(kinds) == 'number' and kinds <= KINDS_MAX then
    times.increase(known, 0)
    return kind
  end
  times.increase('kinds', -1)
  return OTHERS
end

-- Adds counts: words "wait:KIND:BUCKET=NUMBER" and so on, those of a kind side by side.
function times.count(words)
  local last, name
  for what, kind, rest, number in string.gmatch(words, '(%l+):([^ :=]*)([^ =]*)=(%d+)') do
    if kind ~= last then
      last, name = kind, times.name_of(kind)
    end
    times.increase(what .. ':' .. name .. rest, number)
  end
end

-- The bucket of a time, from 0: the first one whose bound is not below it. See TKL__QUEUE_BOUNDS.
function times.bucket_of(ms)
  local decade = 1
  for bucket = 0, TKL__QUEUE_BOUNDS - 1, 2 do
    if ms <= decade then
      return bucket
    elseif ms <= 3 * decade then
      return bucket + 1
    end
    decade = 10 * decade
  end
  return TKL__QUEUE_BOUNDS
end

-- Counts an attempt that no consumer counts.
function times.count_run(kind, ms, failed)
  local name = times.name_of(kind)
  times.increase('run:' .. name .. ':' .. times.bucket_of(ms), 1)
  times.increase('run:' .. name .. ':us', decimal.whole(1000 * math.max(ms, 0)))
  if failed then
    times.increase('failed:' .. name, 1)
  end
end

-- Counts an attempt whose worker was lost.
function times.count_lost(kind)
  local name = times.name_of(kind)
  times.increase('failed:' .. name, 1)
  times.increase('lost:' .. name, 1)
end
