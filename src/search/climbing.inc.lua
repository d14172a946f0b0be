-- Climbing: ladders as writers see them. The bitmaps of all steps begin at keys[first], field by
-- field: the steps of its top, the steps of its low end, its rungs.
-- include: keys
-- include: ladders
-- include: shared/clock

local climbing = {}

local FIRST_OF_SIDE = {top = 0, low = LADDER_STEPS, rung = 2 * LADDER_STEPS}
local STEPS_OF_SIDE = {top = LADDER_STEPS, low = LADDER_STEPS, rung = LADDER_RUNGS}
local RUNGS_LEAST = 4096 -- a field with fewer values has no rungs
local RUNG_GAP = 20      -- rungs are put where each of them has one in this many documents more
local RUNG_WIDE = 16     -- a gap with more than one in this many documents gets rungs
local RUNG_NARROW = 24   -- a rung goes when both gaps beside it have less than that in all
local RUNG_LOWEST = 64   -- one in this many documents may be below the lowest rung
local MAKING_US = 60 * 1000000 -- a step that is not ready after this time was left behind

-- The key of the bitmap of a step.
function climbing.step_key(keys, first, field, side, step)
  return keys[first + FIELD_STEPS * field + FIRST_OF_SIDE[side] + step - 1]
end

-- Reads the steps of all fields, as far as they have a threshold. Returns them by field, for
-- climbing.set_bits(), and :ladder as a table.
function climbing.read(keys, first, nfields)
  local all, steps = ladders.read_all(), {}
  for field = 0, nfields - 1 do
    local high, low = {}, {}
    for side, count in pairs(STEPS_OF_SIDE) do
      local list = side == 'low' and low or high
      for step = 1, count do
        local threshold = all[ladders.step_name(field, side, step)]
        if threshold then
          list[#list + 1] = {threshold = tonumber(threshold),
                             key = climbing.step_key(keys, first, field, side, step)}
        end
      end
    end
    steps[field] = {high = high, low = low}
  end
  return steps, all
end

-- Sets or clears the bit of a document on all steps of a field that contain its score.
function climbing.set_bits(steps, number, score, bit)
  if score == math.huge then
    return
  end
  for _, step in ipairs(steps.high) do
    if score >= step.threshold then
      redis.call('SETBIT', step.key, number, bit)
    end
  end
  for _, step in ipairs(steps.low) do
    if score <= step.threshold then
      redis.call('SETBIT', step.key, number, bit)
    end
  end
end

-- Whether a step was left unfinished by a writer that was killed.
function climbing.is_left(all, name)
  return not all[name .. 'ready'] and clock.us() > (tonumber(all[name .. 'begun']) or 0) + MAKING_US
end

-- Whether a step must be made, for the first time or again: it does not exist, or it is much too
-- wide or too narrow for a reason other than many equal values.
function climbing.is_worn(field_key, name, side, step, all, present)
  local threshold = all[name]
  if not threshold then
    return ladders.step_rank(step, side, present) ~= nil
  elseif climbing.is_left(all, name) then
    return true
  end
  local has, should = ladders.count(field_key, threshold, side), present * ladders.step_share(step)
  if has <= should * LADDER_SLACK and has * LADDER_SLACK >= should then
    return false
  end
  local at = ladders.step_rank(step, side, present)
  return at and redis.call('ZRANGE', field_key, at, at, 'WITHSCORES')[2] ~= threshold
end

-- ---- Rungs -----------------------------------------------------------------

-- Removes a rung.
function climbing.remove_rung(field, rung, keys, first)
  local name = ladders.step_name(field, 'rung', rung.step)
  redis.call('HDEL', LADDER, name, name .. 'ready', name .. 'begun')
  redis.call('DEL', climbing.step_key(keys, first, 0, 'rung', rung.step))
end

-- Removes rungs that are too near to others, except for the lowest, which has all documents. Adds
-- to each rung `count`, its number of documents. Returns the rungs that stay.
function climbing.thin_rungs(field, field_key, rungs, present, keys, first)
  local kept, before = {}, present
  for i, rung in ipairs(rungs) do
    rung.count = ladders.count(field_key, rung.threshold, 'rung')
    local behind = rungs[i + 1] and ladders.count(field_key, rungs[i + 1].threshold, 'rung') or 0
    if i > 1 and (before - behind) * RUNG_NARROW < present then
      climbing.remove_rung(field, rung, keys, first)
    else
      kept[#kept + 1] = rung
      before = rung.count
    end
  end
  return kept
end

-- Appends to `values` the values at which a gap should be divided, each once. `first` and `behind`
-- are ranks. A gap of equal values is not divided.
function climbing.divide_gap(values, field_key, first, behind, share)
  local last = redis.call('ZRANGE', field_key, first, first, 'WITHSCORES')[2]
  local parts = math.ceil((behind - first) / share)
  for i = 1, parts - 1 do
    local at = first + math.floor((behind - first) * i / parts)
    local value = redis.call('ZRANGE', field_key, at, at, 'WITHSCORES')[2]
    if value ~= last then
      values[#values + 1] = value
      last = value
    end
  end
end

-- The values of the rungs that a field lacks, the lowest first.
function climbing.values_of_rungs(field_key, rungs, present)
  local values, first = {}, 0
  if present - (rungs[1] and rungs[1].count or 0) > present / RUNG_LOWEST then
    values[1] = redis.call('ZRANGE', field_key, '0', '0', 'WITHSCORES')[2]
  end
  for i = 1, #rungs + 1 do
    local behind = rungs[i] and present - rungs[i].count or present
    if (behind - first) * RUNG_WIDE > present then
      climbing.divide_gap(values, field_key, first, behind, present / RUNG_GAP)
    end
    first = behind
  end
  return values
end

-- Appends to `worn` the rungs that a field lacks, the highest first: a rung is made from the next
-- higher one.
function climbing.add_rungs(worn, field_key, field, all, present, keys, first)
  local rungs, used, free = ladders.rungs_of(all, field), {}, {}
  for _, rung in ipairs(rungs) do
    used[rung.step] = true
    if climbing.is_left(all, ladders.step_name(field, 'rung', rung.step)) then
      worn[#worn + 1] = {field, 'rung', rung.step, rung.threshold}
    end
  end
  rungs = climbing.thin_rungs(field, field_key, rungs, present, keys, first)
  for step = 1, LADDER_RUNGS do
    free[#free + 1] = not used[step] and step or nil
  end
  local values = climbing.values_of_rungs(field_key, rungs, present)
  for i = 1, math.min(#free, #values) do
    worn[#worn + 1] = {field, 'rung', free[i], values[#values + 1 - i]}
  end
end

-- ---- Both ------------------------------------------------------------------

-- Whether a field is numeric: a member of a field of texts has its text in it, and a NUL.
function climbing.is_numeric(field_key)
  return not string.find(redis.call('ZRANGE', field_key, '0', '0')[1], '%z')
end

-- Appends to `worn` the field, side, step and threshold of each step that has to be made. The steps
-- of this field begin at keys[first].
function climbing.add_worn(worn, field_key, field, all, keys, first)
  local count = redis.call('ZCARD', field_key)
  if count < LADDER_LEAST then
    return
  end
  local present = count - redis.call('ZCOUNT', field_key, 'inf', 'inf')
  for _, side in ipairs({'top', 'low'}) do
    for step = 1, LADDER_STEPS do
      local name = ladders.step_name(field, side, step)
      if climbing.is_worn(field_key, name, side, step, all, present) then
        worn[#worn + 1] = {field, side, step, ''}
      end
    end
  end
  if present >= RUNGS_LEAST and climbing.is_numeric(field_key) then
    climbing.add_rungs(worn, field_key, field, all, present, keys, first)
  end
end
