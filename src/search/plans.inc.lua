-- Plans: what a query asks for, as steps on a stack.
--   t i   the documents of term i            a 1   all documents
--   r i   the documents in range i           n 1   none
--   & n   in all of the n operands on top    | n   in any of the n on top
--   u n   in any of the n terms on top: a union, which may have been made before
--   - n   the n on top are excluded, all others are wanted; the last step
--
-- Work is estimated in microseconds before it is done. A union that takes too much is made by
-- search/union first, in steps, and a range by search/range. Other work that takes too much is
-- refused.
-- include: indexes
-- include: sets
-- include: works

local plans = {}

local MISSING_WIDE = 'wide' -- the plan is more work than one script may do
local UNION_WORK, PLAN_WORK = 2000, 3000
local AND_AT_ONCE = 8     -- operands that are intersected before the result is looked at
local FEW_LEFT = 200      -- numbers of a bitmap that are tested one by one from here on
local RANGES_READ = 4096  -- most numbers of all ranges that are read at once
local RANGE_KEYS = 2      -- a sorted set, and the bitmap that was made of it
local RANGE_ARGUMENTS = 4 -- low, whether low is open, high, whether high is open

-- Rejects a bitmap that is longer than its numbers need: it would keep the server busy for seconds.
function plans.check_length(key, next)
  if redis.call('STRLEN', key) > next / BYTE_BITS + 1 then
    sets.damaged('a bitmap')
  end
end

-- The operand of a term that has a bitmap.
function plans.bits_operand(key, count, next)
  local size = tonumber(count)
  if not (size and size >= 0 and size <= next and size % 1 == 0) then
    sets.damaged('the count of a term')
  end
  plans.check_length(key, next)
  return {size = size, key = key, bits = true}
end

-- The operand of all documents. All numbers of documents are below `next`.
function plans.all_operand(docs, next)
  plans.check_length(LIVE, next)
  return {size = docs, key = LIVE, bits = true}
end

-- The operands of all terms. The name of a term is its key without the first `skip` bytes.
function plans.term_operands(keys, first_key, skip, next)
  local names, operands = {}, {}
  for i = first_key, #keys do
    names[#names + 1] = string.sub(keys[i], skip + 1)
  end
  local counts = sets.in_parts(names, 'HMGET', COMMON)
  for i = 1, #names do
    local key = keys[first_key + i - 1]
    if counts[i] then
      operands[i] = plans.bits_operand(key, counts[i], next)
    else
      local size = redis.call('SCARD', key)
      operands[i] = size > 0 and {size = size, key = key} or sets.nothing()
    end
  end
  return operands
end

-- The operand of a range. `kept`: the key of its bitmap, if that is valid. `list_max`: how many
-- numbers may be read.
function plans.range_operand(range, kept, list_max)
  local low = (range.low_open and '(' or '') .. range.low_text
  local high = (range.high_open and '(' or '') .. range.high_text
  local size = redis.call('ZCOUNT', range.key, low, high)
  if size <= list_max then
    return sets.list_of(redis.call('ZRANGE', range.key, low, high, 'BYSCORE'))
  elseif kept and redis.call('EXISTS', kept) == 1 then
    return {size = redis.call('BITCOUNT', kept), key = kept, bits = true}
  end
  return {size = size, range = range}
end

-- The operands of all ranges, with RANGE_KEYS keys and RANGE_ARGUMENTS arguments each. `made`:
-- their bitmaps are valid.
function plans.read_ranges(keys, first_key, args, first_arg, count, made)
  local ranges, left = {}, RANGES_READ
  for i = 1, count do
    local key, at = first_key + RANGE_KEYS * (i - 1), first_arg + RANGE_ARGUMENTS * (i - 1)
    local field, kept = unpack(keys, key, key + RANGE_KEYS - 1)
    local low, low_open, high, high_open = unpack(args, at, at + RANGE_ARGUMENTS - 1)
    local range = {index = i, key = field, low_text = low, high_text = high,
                   low_open = low_open == '1', high_open = high_open == '1',
                   low = tonumber(low) or -math.huge, high = tonumber(high) or math.huge}
    ranges[i] = plans.range_operand(range, made and kept, math.min(LIST_MAX, left))
    left = left - (ranges[i].list and ranges[i].size or 0)
  end
  return ranges
end

-- The keys of scratch results. `keys` has from `first_key` on what plans.read() describes.
function plans.temps_of(keys, first_key, amounts)
  local first_temp = first_key + RANGE_KEYS * amounts.ranges + amounts.unions
  return {unpack(keys, first_temp, first_temp + amounts.temps - 1)}
end

-- Reads the operands of a plan. `keys` has from `first_key` on, in this order, the keys of ranges,
-- of unions, of scratch results, and of terms. `args` has the bounds of the ranges from
-- `first_bound` on. `amounts`: the numbers of {ranges, unions, temps}. `made_for`: the version for
-- which bitmaps of ranges and unions were made; '*': they are valid for any version.
function plans.read(keys, first_key, args, first_bound, amounts, skip, index, made_for)
  local made_before = made_for == '*'
  local made = made_before or made_for == index.version
  local first_union = first_key + RANGE_KEYS * amounts.ranges
  local first_temp = first_union + amounts.unions
  local all = plans.all_operand(index.docs, index.next)
  local terms = plans.term_operands(keys, first_temp + amounts.temps, skip, index.next)
  local ranges = plans.read_ranges(keys, first_key, args, first_bound, amounts.ranges, made)
  return {
    leaves = {t = terms, r = ranges, a = {all}, n = {sets.nothing()}},
    made = made,
    unions = made and {unpack(keys, first_union, first_temp - 1)} or {},
    temps = plans.temps_of(keys, first_key, amounts),
    terms = terms,
    -- Every document must also be in this operand: bitmaps that were made before may have numbers
    -- that are free by now.
    live = (made_before or redis.call('ZCARD', DEAD) > 0) and all,
    next = index.next,
    index = index,
  }
end

-- ---- Work ------------------------------------------------------------------

-- The work of putting all operands into one bitmap.
function plans.or_work(operands, state)
  local work = 0
  for _, operand in ipairs(operands) do
    local each = operand.list and LISTED_WORK or NUMBER_WORK
    work = work + (operand.bits and state.bits_work or operand.size * each) + CALL_WORK
  end
  return work
end

-- The work of testing `size` numbers for the operand.
function plans.test_work(operand, size, state)
  if operand.bits then
    return math.min(size * BIT_WORK, state.bits_work) + CALL_WORK
  end
  return size * TEST_WORK + CALL_WORK
end

-- The work of removing the operands from a result with `size` numbers. `is_list`: the result is an
-- array.
function plans.except_work(operands, size, is_list, state)
  if not is_list then
    return plans.or_work(operands, state)
  end
  local work = 0
  for _, operand in ipairs(operands) do
    work = work + plans.test_work(operand, size, state)
  end
  return work
end

-- The work of intersecting operands, the smallest of which has `size` numbers. `is_list`: the
-- smallest is a set or an array; else all are bitmaps, which are combined and counted.
function plans.and_work(operands, size, is_list, state)
  local work = is_list and 0 or state.bits_work
  for _, operand in ipairs(operands) do
    work = work + (is_list and plans.test_work(operand, size, state) or state.bits_work)
  end
  return work + CALL_WORK
end

-- Whether an operand is a set or an array, not a bitmap or a range.
function plans.is_small(operand)
  return not operand.bits and not operand.range
end

-- The size of the smallest operand, and whether one is a set or an array.
function plans.smallest_of(operands)
  local size, small = math.huge, false
  for _, operand in ipairs(operands) do
    size = math.min(size, operand.size)
    small = small or plans.is_small(operand)
  end
  return size, small
end

-- ---- Steps -----------------------------------------------------------------

-- Takes the operands off the top of the stack.
function plans.pop(stack, count)
  local top = {}
  for i = 1, count do
    top[i] = table.remove(stack)
  end
  return top
end

-- The next scratch key.
function plans.next_temp(state)
  state.used = state.used + 1
  return state.temps[state.used]
end

-- Notes the ranges among the operands that are needed as bitmaps: they must be made first.
function plans.need_ranges(operands, state)
  for _, operand in ipairs(operands) do
    if operand.range then
      state.ranges[#state.ranges + 1] = operand.range.index
    end
  end
end

-- Whether bitmaps of ranges or unions must be made first.
function plans.is_missing(state)
  return #state.ranges + #state.unions > 0
end

-- The operand of a union of terms: its bitmap if there is one, else the terms, not combined yet.
function plans.union_operand(operands, state)
  state.seen = state.seen + 1
  local made = state.made[state.seen]
  if made and redis.call('EXISTS', made) == 1 then
    return {size = redis.call('BITCOUNT', made), key = made, bits = true}
  end
  local size = 0
  for _, operand in ipairs(operands) do
    size = size + operand.size
  end
  return {size = size, union = operands, index = state.seen}
end

-- Whether this script may combine a union. If not, the union is noted as missing.
function plans.may_combine(union, work, state)
  if state.work + work <= UNION_WORK then
    return true
  end
  state.unions[#state.unions + 1] = union.index
  return false
end

-- The operands with each union combined.
function plans.without_unions(operands, state)
  local others = {}
  for i, operand in ipairs(operands) do
    if operand.union then
      local work = plans.or_work(operand.union, state)
      if plans.may_combine(operand, work, state) then
        state.work = state.work + work
        operand = sets.or_of(operand.union, plans.next_temp(state), state.next)
      else
        operand = sets.nothing()
      end
    end
    others[i] = operand
  end
  return others
end

-- Excluded operands, with each union replaced by its own operands: they need not be combined.
function plans.spread_unions(operands, size, is_list, state)
  local spread = {}
  for _, operand in ipairs(operands) do
    local work = operand.union and plans.except_work(operand.union, size, is_list, state)
    if not operand.union then
      spread[#spread + 1] = operand
    elseif plans.may_combine(operand, work, state) then
      for _, part in ipairs(operand.union) do
        spread[#spread + 1] = part
      end
    end
  end
  return spread
end

-- The documents in any of the operands.
function plans.or_step(operands, state)
  operands = plans.without_unions(operands, state)
  plans.need_ranges(operands, state)
  state.work = state.work + plans.or_work(operands, state)
  if plans.is_missing(state) or state.work > PLAN_WORK then
    return sets.nothing()
  end
  return sets.or_of(operands, plans.next_temp(state), state.next)
end

-- Intersects operands, which are sorted by size, a few at once: almost always the first ones leave
-- few numbers or none. `is_list`: one is a set or an array; else all are bitmaps, and the result is
-- in `into`, or an array as soon as few numbers are left. Ends early when nothing is left, and when
-- it is too much work.
function plans.intersect(operands, is_list, into, state)
  local result
  for first = 1, #operands, AND_AT_ONCE do
    local some = {unpack(operands, first, math.min(first + AND_AT_ONCE - 1, #operands))}
    local size = (result or operands[1]).size
    state.work = state.work + plans.and_work(some, size, is_list, state)
    if size == 0 or state.work > PLAN_WORK then
      return sets.nothing()
    elseif not is_list and result and size <= FEW_LEFT then
      is_list = true
      result = sets.list_of((sets.read_bits(result.key, size, 0, size)))
    end
    if not is_list then
      some[#some + 1] = result
      result = sets.and_bits(some, {}, into, state.scratch, state.next)
    elseif result then
      result = sets.list_of(sets.keep_all(result.list, some, true, state.scratch))
    else
      result = sets.and_lists(some, {}, state.scratch)
    end
  end
  return result
end

-- The documents in all wanted operands and in none of the excluded ones.
function plans.and_step(wanted, excluded, state)
  wanted = plans.without_unions(wanted, state)
  local size, is_list = plans.smallest_of(wanted)
  excluded = plans.spread_unions(excluded, size, is_list, state)
  if not is_list then
    plans.need_ranges(wanted, state)
    plans.need_ranges(excluded, state)
  end
  state.work = state.work + plans.except_work(excluded, size, is_list, state)
  if plans.is_missing(state) or state.work > PLAN_WORK or size == 0 then
    return sets.nothing()
  end
  table.sort(wanted, sets.by_size)
  local into = plans.next_temp(state)
  local result = plans.intersect(wanted, is_list, into, state)
  if result.list then
    return sets.list_of(sets.keep_all(result.list, excluded, false, state.scratch))
  end
  return sets.and_bits({result}, excluded, into, state.scratch, state.next)
end

-- Executes one step of the plan on the stack. Returns the operand that it makes, and the stack.
function plans.step(kind, count, stack, plan, state)
  local leaves = plan.leaves[kind]
  if leaves then
    return leaves[count], stack
  elseif kind == 'u' then
    return plans.union_operand(plans.pop(stack, count), state), stack
  elseif kind == '|' then
    return plans.or_step(plans.pop(stack, count), state), stack
  elseif kind == '&' then
    return plans.and_step(plans.pop(stack, count), {}, state), stack
  end
  local excluded = plans.pop(stack, count)
  stack[#stack + 1] = plan.live or nil
  return plans.and_step(stack, excluded, state), {}
end

-- Calls a function, and removes the scratch results, even when the function fails.
function plans.with_temps(temps, run)
  local ok, result, why = pcall(run)
  redis.call('DEL', unpack(temps))
  if not ok then
    error(type(result) == 'table' and result or {err = result}) -- pcall() turns errors into texts
  end
  return result, why
end

-- Executes the steps of a plan. Returns the resulting operand, or nil and the reason: {indexes
-- of ranges, indexes of unions} that must be made first, or MISSING_WIDE.
function plans.carry_out(steps, plan)
  local temps, stack = plan.temps, {}
  local state = {used = 0, seen = 0, work = 0, ranges = {}, unions = {}, temps = temps,
                 scratch = temps[#temps], made = plan.unions, next = plan.next,
                 bits_work = works.of_bits(plan.next)}
  for kind, count in string.gmatch(steps, '(%S) (%d+)') do
    local operand
    operand, stack = plans.step(kind, tonumber(count), stack, plan, state)
    stack[#stack + 1] = operand
  end
  if plans.is_missing(state) then
    return nil, {state.ranges, state.unions}
  elseif state.work > PLAN_WORK then
    return nil, MISSING_WIDE
  end
  return stack[1]
end
