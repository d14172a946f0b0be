-- Climbing: ladders as writers see them. From keys[first] on come the bitmaps of all steps, those
-- of the top of a field before those of its low end, field by field.
-- include: keys
-- include: ladders

local climbing = {}

-- The key of the bitmap of a step.
function climbing.step_key(keys, first, field, side, step)
  local ladder = 2 * field + (side == 'top' and 0 or 1)
  return keys[first + ladder * LADDER_STEPS + step - 1]
end

-- Reads the steps of all fields that have a threshold. Returns them by field, for
-- climbing.set_bits(), and their thresholds by name.
function climbing.read(keys, first, nfields)
  local all, thresholds, steps = redis.call('HGETALL', LADDER), {}, {}
  for i = 1, #all, 2 do
    thresholds[all[i]] = all[i + 1]
  end
  for field = 0, nfields - 1 do
    steps[field] = {top = {}, low = {}}
    for side, list in pairs(steps[field]) do
      for step = 1, LADDER_STEPS do
        local threshold = thresholds[ladders.step_name(field, side, step)]
        if threshold then
          list[#list + 1] = {threshold = tonumber(threshold),
                             key = climbing.step_key(keys, first, field, side, step)}
        end
      end
    end
  end
  return steps, thresholds
end

-- Sets or clears the bit of a document on all steps of a field that contain its score.
function climbing.set_bits(steps, number, score, bit)
  if score == math.huge then
    return
  end
  for _, step in ipairs(steps.top) do
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

-- Whether a step must be made, for the first time or again: it does not exist, or it is much too
-- wide or too narrow for a reason other than many equal values.
function climbing.is_worn(field_key, name, side, step, thresholds, present)
  local threshold = thresholds[name]
  if not threshold then
    return ladders.step_place(step, side, present) ~= nil
  end
  local low, high = ladders.step_bounds(threshold, side)
  local has, should = redis.call('ZCOUNT', field_key, low, high), present * ladders.step_share(step)
  if has <= should * LADDER_SLACK and has * LADDER_SLACK >= should then
    return false
  end
  local at = ladders.step_place(step, side, present)
  return at and redis.call('ZRANGE', field_key, at, at, 'WITHSCORES')[2] ~= threshold
end

-- Appends to `worn` the field, side and step of each step that has to be made.
function climbing.add_worn(worn, field_key, field, thresholds)
  local all = redis.call('ZCARD', field_key)
  if all < LADDER_LEAST then
    return
  end
  local present = all - redis.call('ZCOUNT', field_key, 'inf', 'inf')
  for _, side in ipairs({'top', 'low'}) do
    for step = 1, LADDER_STEPS do
      local name = ladders.step_name(field, side, step)
      if climbing.is_worn(field_key, name, side, step, thresholds, present) then
        worn[#worn + 1] = {field, side, step}
      end
    end
  end
end
