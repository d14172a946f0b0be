-- The change to the next slice. See the essay of counter.c.
-- include: slices

-- The stretch of time around now in which no precision changes its slice.
local function stretch_around_now(precisions)
  local since, till = 0, math.huge
  for _, precision in ipairs(precisions) do
    local start = now - now % precision
    since, till = math.max(since, start), math.min(till, start + precision)
  end
  return since, till
end

-- What HSET needs to move a current count that has ended to its place. A clock that was set back
-- may have put a part of the same slice there before.
local function add_ended(changes, precision, ended, samples, count, before)
  local slice, part = read_place(before)
  if slice == ended then
    count = count + part
  end
  changes[#changes + 1] = place_of(precision, ended, samples)
  changes[#changes + 1] = string.format('%d %d', ended, count)
end

-- Ends the slices that are over, `since` being a time in all current ones, and begins those of
-- now.
local function turn(key, shape, since)
  local samples, precisions = read_shape(shape)
  local fields, changes, longest, longest_begins = {}, {}, 0, false
  for i, precision in ipairs(precisions) do
    local slice = math.floor(since / precision)
    fields[2 * i - 1] = string.format('%d', precision)
    fields[2 * i] = place_of(precision, slice, samples)
  end
  local stored = redis.call('HMGET', key, unpack(fields))
  for i, precision in ipairs(precisions) do
    local ended, begins = math.floor(since / precision), math.floor(now / precision)
    local count = number_in(stored[2 * i - 1])
    if ended ~= begins and count ~= 0 then
      add_ended(changes, precision, ended, samples, count, stored[2 * i])
    end
    if ended ~= begins then
      changes[#changes + 1] = fields[2 * i - 1]
      changes[#changes + 1] = '0'
    end
    if precision >= longest then
      longest, longest_begins = precision, ended ~= begins
    end
  end
  local from, till = stretch_around_now(precisions)
  redis.call('HSET', key, 'shape', shape, 'since', string.format('%d', from),
             'until', string.format('%d', till), unpack(changes))
  if longest_begins then
    redis.call('PEXPIRE', key, string.format('%d', longest * (samples + 1)))
  end
end
