-- Ladders as writers see them: KEYS[first + ...] are the bitmaps of all steps, those of the top of a
-- field before those of its low end, field by field.
-- include: keys
-- include: ladder

local function step_key(first, field, side, step)
  local ladder = 2 * field + (side == 'top' and 0 or 1)
  return KEYS[first + ladder * LADDER_STEPS + step - 1]
end

-- The steps of all fields that have a threshold. Returns them by field, for climb(), and their
-- thresholds by name.
local function read_ladder(first, nfields)
  local all, thresholds, steps = redis.call('HGETALL', LADDER), {}, {}
  for i = 1, #all, 2 do
    thresholds[all[i]] = all[i + 1]
  end
  for field = 0, nfields - 1 do
    steps[field] = {top = {}, low = {}}
    for side, list in pairs(steps[field]) do
      for step = 1, LADDER_STEPS do
        local threshold = thresholds[step_name(field, side, step)]
        if threshold then
          list[#list + 1] = {threshold = tonumber(threshold), key = step_key(first, field, side, step)}
        end
      end
    end
  end
  return steps, thresholds
end

-- Sets or clears the bits of a document on all steps of a field that have it.
local function climb(steps, number, score, bit)
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

-- Whether a step has to be made, or made anew: it is much too wide or too narrow, and not only
-- because many values are equal.
local function is_worn(field_key, name, side, step, thresholds, present)
  local threshold = thresholds[name]
  if not threshold then
    return step_place(step, side, present) ~= nil
  end
  local low, high = step_bounds(threshold, side)
  local has, should = redis.call('ZCOUNT', field_key, low, high), present * step_share(step)
  if has <= should * LADDER_SLACK and has * LADDER_SLACK >= should then
    return false
  end
  local at = step_place(step, side, present)
  return at and redis.call('ZRANGE', field_key, at, at, 'WITHSCORES')[2] ~= threshold
end

-- Appends field, side, step of each that has to be made.
local function add_worn(worn, field_key, field, thresholds)
  local all = redis.call('ZCARD', field_key)
  if all < LADDER_LEAST then
    return
  end
  local present = all - redis.call('ZCOUNT', field_key, 'inf', 'inf')
  for _, side in ipairs({'top', 'low'}) do
    for step = 1, LADDER_STEPS do
      if is_worn(field_key, step_name(field, side, step), side, step, thresholds, present) then
        worn[#worn + 1] = {field, side, step}
      end
    end
  end
end
