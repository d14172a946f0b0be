-- Turning to the next slice. See the essay of counter.c.
-- include: shared/lasting
-- include: slices

local turning = {}

-- The period around now in which no precision changes its slice.
function turning.stretch_around_now(precisions)
  local since, till = 0, math.huge
  for _, precision in ipairs(precisions) do
    local start = now - now % precision
    since, till = math.max(since, start), math.min(till, start + precision)
  end
  return since, till
end

-- Appends the change, for HSET, that moves the count of an ended slice to its place. After the
-- clock was set back, the place may already hold a part of the same slice.
function turning.add_ended(changes, precision, ended, samples, count, before)
  local slice, part = slices.read_place(before)
  if slice == ended then
    count = count + part
  end
  changes[#changes + 1] = slices.place_of(precision, ended, samples)
  changes[#changes + 1] = string.format('%d %d', ended, count)
end

-- Ends the slices that are over, and begins the slices that contain now. `since`: a time within all
-- slices that are current so far.
function turning.begin(key, shape, since)
  local samples, precisions = slices.read_shape(shape)
  local fields, changes, longest, longest_begins = {}, {}, 0, false
  for i, precision in ipairs(precisions) do
    local slice = math.floor(since / precision)
    fields[2 * i - 1] = decimal.whole(precision)
    fields[2 * i] = slices.place_of(precision, slice, samples)
  end
  local stored = redis.call('HMGET', key, unpack(fields))
  for i, precision in ipairs(precisions) do
    local ended, begins = math.floor(since / precision), math.floor(now / precision)
    local count = slices.number_in(stored[2 * i - 1])
    if ended ~= begins and count ~= 0 then
      turning.add_ended(changes, precision, ended, samples, count, stored[2 * i])
    end
    if ended ~= begins then
      changes[#changes + 1] = fields[2 * i - 1]
      changes[#changes + 1] = '0'
    end
    if precision >= longest then
      longest, longest_begins = precision, ended ~= begins
    end
  end
  local from, till = turning.stretch_around_now(precisions)
  redis.call('HSET', key, 'shape', shape, 'since', decimal.whole(from),
             'until', decimal.whole(till), unpack(changes))
  if longest_begins then
    lasting.keep_until(key, now + longest * (samples + 1), 0)
  end
end
