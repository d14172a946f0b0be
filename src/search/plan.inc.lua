-- Plans: what a query asks for, as steps on a stack.
--   t i   the documents of term i            a 1   all documents
--   r i   those in range i                   n 1   none
--   & n   in all of the n operands on top    | n   in any of the n on top
--   u n   in any of the n terms on top: a union, which may have been made before
--   - n   the n on top are excluded, all others are wanted; the last step
--
-- Work is estimated in microseconds before it is done. A union that takes too much is made by
-- search/union first, in steps, and a range by search/range; whatever else takes too much is refused.
-- include: index
-- include: operands

local MISSING_WIDE = 'wide' -- the plan takes more work than a script may
local UNION_WORK, PLAN_WORK = 3000, 8000
local NUMBER_WORK = 1.5     -- to take a number out of a set and put it into a bitmap
local TEST_WORK = 0.2       -- to look for a number in a set or a range
local BIT_WORK = 0.6        -- to look for a number in a bitmap
local CALL_WORK = 1         -- of each command besides
local BYTES_PER_WORK = 2400 -- of a bitmap that is combined with others
local BITMAPS_MOST = 64     -- that are combined before nothing is left
local RANGES_READ = 4096    -- numbers of all ranges that are read at once
local RANGE_KEYS = 2        -- its sorted set, and the bitmap that was made of it
local RANGE_ARGUMENTS = 4   -- low, whether it is open, high, whether it is open

-- A bitmap that is longer than its numbers need would keep the server busy for seconds.
local function check_length(key, next)
  if redis.call('STRLEN', key) > next / BYTE_BITS + 1 then
    damaged('a bitmap')
  end
end

local function bits_operand(key, count, next)
  local size = tonumber(count)
  if not (size and size >= 0 and size <= next and size % 1 == 0) then
    damaged('the count of a term')
  end
  check_length(key, next)
  return {size = size, key = key, bits = true}
end

-- All documents. `next`: no document has this number or a greater one.
local function all_operand(docs, next)
  check_length(LIVE, next)
  return {size = docs, key = LIVE, bits = true}
end

-- The operands of all terms: which have a bitmap, and how many documents each has.
local function term_operands(first_key, skip, next)
  local names, operands = {}, {}
  for i = first_key, #KEYS do
    names[#names + 1] = string.sub(KEYS[i], skip + 1)
  end
  local counts = in_parts(names, 'HMGET', COMMON)
  for i = 1, #names do
    local key = KEYS[first_key + i - 1]
    if counts[i] then
      operands[i] = bits_operand(key, counts[i], next)
    else
      local size = redis.call('SCARD', key)
      operands[i] = size > 0 and {size = size, key = key} or nothing()
    end
  end
  return operands
end

-- The operand of a range. `kept`: the key of its bitmap, if that was made; `list_max`: numbers that
-- may be read.
local function range_operand(range, kept, list_max)
  local low = (range.low_open and '(' or '') .. range.low_text
  local high = (range.high_open and '(' or '') .. range.high_text
  local size = redis.call('ZCOUNT', range.key, low, high)
  if size <= list_max then
    return list_of(redis.call('ZRANGE', range.key, low, high, 'BYSCORE'))
  elseif kept and redis.call('EXISTS', kept) == 1 then
    return {size = redis.call('BITCOUNT', kept), key = kept, bits = true}
  end
  return {size = size, range = range}
end

-- The operands of all ranges: RANGE_KEYS and RANGE_ARGUMENTS each. `made`: their bitmaps can be used.
local function read_ranges(first_key, first_arg, count, made)
  local ranges, left = {}, RANGES_READ
  for i = 1, count do
    local key, at = first_key + RANGE_KEYS * (i - 1), first_arg + RANGE_ARGUMENTS * (i - 1)
    local field, kept = unpack(KEYS, key, key + RANGE_KEYS - 1)
    local low, low_open, high, high_open = unpack(ARGV, at, at + RANGE_ARGUMENTS - 1)
    local range = {place = i, key = field, low_text = low, high_text = high,
                   low_open = low_open == '1', high_open = high_open == '1',
                   low = tonumber(low) or -math.huge, high = tonumber(high) or math.huge}
    ranges[i] = range_operand(range, made and kept, math.min(LIST_MAX, left))
    left = left - (ranges[i].list and ranges[i].size or 0)
  end
  return ranges
end

local function keys_from(first_key, count)
  local keys = {}
  for i = 1, count do
    keys[i] = KEYS[first_key + i - 1]
  end
  return keys
end

-- What a plan works on. From `first_key` on KEYS has, in this order, those of ranges, of unions,
-- for results in between, and of terms; from `first_bound` on ARGV has the bounds of the ranges.
-- `amounts`: how many {ranges, unions, temps}. `made_for`: the version for which bitmaps of ranges
-- and unions were made; '*': they can be used in any case.
local function read_plan(first_key, first_bound, amounts, skip, index, made_for)
  local made = made_for == index.version or made_for == '*'
  local first_union = first_key + RANGE_KEYS * amounts.ranges
  local first_temp = first_union + amounts.unions
  local all = all_operand(index.docs, index.next)
  local terms = term_operands(first_temp + amounts.temps, skip, index.next)
  local ranges = read_ranges(first_key, first_bound, amounts.ranges, made)
  return {
    leaves = {t = terms, r = ranges, a = {all}, n = {nothing()}},
    unions = keys_from(first_union, made and amounts.unions or 0),
    temps = keys_from(first_temp, amounts.temps),
    terms = terms,
    live = redis.call('ZCARD', DEAD) > 0 and all, -- wanted besides
    next = index.next,
  }
end

-- ---- Work ------------------------------------------------------------------

-- Of combining a bitmap of all numbers with others.
local function bits_work(next)
  return next / BYTE_BITS / BYTES_PER_WORK
end

-- Of putting all operands into one bitmap.
local function or_work(operands, state)
  local work = 0
  for _, operand in ipairs(operands) do
    work = work + (operand.bits and state.bits_work or operand.size * NUMBER_WORK) + CALL_WORK
  end
  return work
end

-- Of testing `size` numbers for the operand.
local function test_work(operand, size, state)
  if operand.bits then
    return math.min(size * BIT_WORK, state.bits_work) + CALL_WORK
  end
  return size * TEST_WORK + CALL_WORK
end

-- Of taking the operands out of a result of so many numbers; `is_list`: it is an array.
local function except_work(operands, size, is_list, state)
  if not is_list then
    return or_work(operands, state)
  end
  local work = 0
  for _, operand in ipairs(operands) do
    work = work + test_work(operand, size, state)
  end
  return work
end

-- Of an intersection. Sets are intersected by one command, which ends each number at the first set
-- that has it not; of many bitmaps, which are combined from the smallest on, the first ones leave
-- nothing in almost all cases.
local function and_work(operands, size, state)
  local work, bitmaps = 0, 0
  for _, operand in ipairs(operands) do
    bitmaps = bitmaps + (operand.bits and 1 or 0)
    if operand.range or (operand.bits and bitmaps <= BITMAPS_MOST) then
      work = work + test_work(operand, size, state)
    end
  end
  return work
end

local function is_small(operand)
  return not operand.bits and not operand.range
end

local function smallest_of(operands)
  local size, small = math.huge, false
  for _, operand in ipairs(operands) do
    size = math.min(size, operand.size)
    small = small or is_small(operand)
  end
  return size, small
end

-- ---- Steps -----------------------------------------------------------------

local function pop(stack, count)
  local top = {}
  for i = 1, count do
    top[i] = table.remove(stack)
  end
  return top
end

local function next_temp(state)
  state.used = state.used + 1
  return state.temps[state.used]
end

-- Ranges among operands that must be bitmaps: those that are not made yet are missing.
local function need_ranges(operands, state)
  for _, operand in ipairs(operands) do
    if operand.range then
      state.ranges[#state.ranges + 1] = operand.range.place
    end
  end
end

local function is_missing(state)
  return #state.ranges + #state.unions > 0
end

-- A union of terms, by its place: as it was made, or not yet combined.
local function union_operand(operands, state)
  state.seen = state.seen + 1
  local made = state.made[state.seen]
  if made and redis.call('EXISTS', made) == 1 then
    return {size = redis.call('BITCOUNT', made), key = made, bits = true}
  end
  local size = 0
  for _, operand in ipairs(operands) do
    size = size + operand.size
  end
  return {size = size, union = operands, place = state.seen}
end

-- Whether a union may be combined here and now; else it is missing.
local function may_combine(union, work, state)
  if state.work + work <= UNION_WORK then
    return true
  end
  state.unions[#state.unions + 1] = union.place
  return false
end

-- The operands, each union among them combined.
local function without_unions(operands, state)
  local others = {}
  for i, operand in ipairs(operands) do
    if operand.union then
      local work = or_work(operand.union, state)
      if may_combine(operand, work, state) then
        state.work = state.work + work
        operand = or_of(operand.union, next_temp(state), state.next)
      else
        operand = nothing()
      end
    end
    others[i] = operand
  end
  return others
end

-- Excluded operands, with those of unions in place of these: they need not be combined.
local function spread_unions(operands, size, is_list, state)
  local spread = {}
  for _, operand in ipairs(operands) do
    local work = operand.union and except_work(operand.union, size, is_list, state)
    if not operand.union then
      spread[#spread + 1] = operand
    elseif may_combine(operand, work, state) then
      for _, part in ipairs(operand.union) do
        spread[#spread + 1] = part
      end
    end
  end
  return spread
end

local function or_step(operands, state)
  operands = without_unions(operands, state)
  need_ranges(operands, state)
  state.work = state.work + or_work(operands, state)
  if is_missing(state) or state.work > PLAN_WORK then
    return nothing()
  end
  return or_of(operands, next_temp(state), state.next)
end

local function and_step(wanted, excluded, state)
  wanted = without_unions(wanted, state)
  local size, small = smallest_of(wanted)
  excluded = spread_unions(excluded, size, small, state)
  if not small then
    need_ranges(wanted, state)
    need_ranges(excluded, state)
  end
  state.work = state.work + and_work(wanted, size, state)
    + except_work(excluded, size, small, state)
  if is_missing(state) or state.work > PLAN_WORK or size == 0 then
    return nothing()
  end
  table.sort(wanted, by_size)
  if small then
    return and_lists(wanted, excluded, state.scratch)
  end
  return and_bits(wanted, excluded, next_temp(state), state.scratch, state.next)
end

-- One step of the plan on the stack. Returns the operand that it makes, and the stack.
local function step(kind, count, stack, plan, state)
  local leaves = plan.leaves[kind]
  if leaves then
    return leaves[count], stack
  elseif kind == 'u' then
    return union_operand(pop(stack, count), state), stack
  elseif kind == '|' then
    return or_step(pop(stack, count), state), stack
  elseif kind == '&' then
    return and_step(pop(stack, count), {}, state), stack
  end
  local excluded = pop(stack, count)
  stack[#stack + 1] = plan.live or nil
  return and_step(stack, excluded, state), {}
end

-- Runs a function, and removes results in between, also when it fails.
local function with_temps(temps, run)
  local ok, result, why = pcall(run)
  redis.call('DEL', unpack(temps))
  if not ok then
    error(type(result) == 'table' and result or {err = result}) -- pcall() makes texts of errors
  end
  return result, why
end

-- Carries out the steps of a plan. Returns the operand that is the result, or nil and why: {places
-- of ranges, places of unions} that are to be made, or MISSING_WIDE.
local function carry_out(steps, plan)
  local temps, stack = plan.temps, {}
  local state = {used = 0, seen = 0, work = 0, ranges = {}, unions = {}, temps = temps,
                 scratch = temps[#temps], made = plan.unions, next = plan.next,
                 bits_work = bits_work(plan.next)}
  for kind, count in string.gmatch(steps, '(%S) (%d+)') do
    local operand
    operand, stack = step(kind, tonumber(count), stack, plan, state)
    stack[#stack + 1] = operand
  end
  if is_missing(state) then
    return nil, {state.ranges, state.unions}
  elseif state.work > PLAN_WORK then
    return nil, MISSING_WIDE
  end
  return stack[1]
end
