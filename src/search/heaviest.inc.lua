-- The documents of a result with the greatest weighted sums of fields, without a look at all of
-- them.
--
-- A step of a ladder has the documents that come first by one field. A document that is on no
-- field's step has in each field at most the first value behind the step, so its sum is at most the
-- weighted sum of these values. The search visits steps, the narrow ones first, until enough
-- documents on them have a greater sum.
-- include: keys
-- include: sets
-- include: ladders
-- include: shared/clock

local heaviest = {}

local SUMS_MOST = 1500  -- documents of the result on the steps; with more, the client compares all
local HEAVY_MOST = 300  -- hits that are wanted; with more, the client compares all documents

-- The greatest sum that weight * value adds for documents that are not on the step of the field.
function heaviest.bound_outside(field, threshold)
  local low, high = '-inf', '(' .. threshold
  local range = {'ZRANGE', field.key, high, low, 'BYSCORE', 'REV', 'LIMIT', '0', '1', 'WITHSCORES'}
  if field.side == 'low' then
    low, high = '(' .. threshold, '(inf'
    range = {'ZRANGE', field.key, low, high, 'BYSCORE', 'LIMIT', '0', '1', 'WITHSCORES'}
  end
  local next_value = redis.call(unpack(range))[2]
  local bound = next_value and field.weight * next_value or -math.huge
  local lacking = redis.call('ZCOUNT', field.key, 'inf', 'inf') > 0
  return lacking and math.max(bound, 0) or bound -- a missing value counts as 0
end

-- The sums of documents, as the client computes them.
function heaviest.sums_of(list, fields)
  local sums = {}
  for i = 1, #list do
    sums[i] = 0
  end
  for _, field in ipairs(fields) do
    local scores = sets.in_parts(list, 'ZMSCORE', field.key)
    for i = 1, #list do
      local value = tonumber(scores[i] or 'inf')
      if value < math.huge then
        sums[i] = sums[i] + field.weight * value
      end
    end
  end
  for i = 1, #list do
    if sums[i] ~= sums[i] then
      sums[i] = 0 -- NaN: the sum of infinite products
    end
  end
  return sums
end

-- The documents with the `wanted` greatest sums, and the documents whose sums are equal to the last
-- of these; nil: fewer than `wanted` sums are greater than `bound`.
function heaviest.greatest(list, fields, wanted, bound)
  local sums = heaviest.sums_of(list, fields)
  local sorted = {unpack(sums)} -- at most SUMS_MOST or LIST_MAX
  table.sort(sorted, function(a, b) return a > b end)
  local least = sorted[wanted]
  if not least and bound ~= -math.huge or least and not (least > bound) then
    return nil
  end
  local kept = {}
  for i = 1, #list do
    if not least or sums[i] >= least then
      kept[#kept + 1] = list[i]
    end
  end
  return kept
end

-- The bitmaps of one step of all fields, and the bound of the sums of all other documents; nil: a
-- ladder does not have the step.
function heaviest.step_of(fields, step)
  local keys, bound = {}, 0
  for i, field in ipairs(fields) do
    local name = ladders.step_name(field.name, field.side, step)
    local threshold, ready = unpack(redis.call('HMGET', LADDER, name, name .. 'ready'))
    if not (threshold and ready) then
      return nil
    end
    keys[i] = field.steps[step]
    bound = bound + heaviest.bound_outside(field, threshold)
  end
  return keys, bound
end

-- The documents of the result that are on a step of any field, as an array; nil: they are too many.
function heaviest.on_steps(result, keys, scratch)
  redis.call('DEL', scratch)
  sets.combine_bits('OR', scratch, keys)
  redis.call('BITOP', 'AND', scratch, scratch, result.key)
  local count = redis.call('BITCOUNT', scratch)
  return count <= SUMS_MOST and (sets.read_bits(scratch, count, 0, count)) or nil
end

-- The documents of the result that may have the `wanted` greatest sums, as an array; nil: compare
-- all; false: more steps have to be visited, and the second result is the next one. `fields`:
-- {name, key, side, weight, steps} of each field with a weight; `first`: the step to begin with,
-- nil at first; `stop_us`: when this call has done enough, by the server's clock.
function heaviest.candidates(result, fields, wanted, first, scratch, stop_us)
  if wanted > HEAVY_MOST or #fields == 0 then
    return nil
  elseif result.list then
    return heaviest.greatest(result.list, fields, wanted, -math.huge)
  end
  for step = first or LADDER_STEPS, 1, -1 do
    local expected = result.size * ladders.step_share(step)
    if expected * #fields >= wanted and expected <= SUMS_MOST then
      local keys, bound = heaviest.step_of(fields, step)
      local list = keys and heaviest.on_steps(result, keys, scratch)
      if keys and not list then
        return nil
      end
      local greatest = list and heaviest.greatest(list, fields, wanted, bound)
      if greatest then
        return greatest
      elseif list and step > 1 and clock.us() > stop_us then
        return false, step - 1
      end
    end
  end
  return nil
end
