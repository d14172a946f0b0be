-- Plans: what a query asks for, as steps on a stack.
--   t i   the documents of term i            a 1   all documents
--   r i   those in range i                   n 1   none
--   & n   in all of the n operands on top    | n   in any of the n on top
--   - n   the n on top are excluded, all others are wanted; the last step
-- include: operands

local MISSING_WIDE = 'wide' -- an "or" of more numbers than it may take

local function damaged(what)
  error({err = 'DAMAGED ' .. what .. ' of the index was not written by tackle'})
end

-- A bitmap that is longer than its numbers need would keep the server busy for seconds.
local function check_length(key, next)
  if redis.call('STRLEN', key) > next / 8 + 1 then
    damaged('a bitmap')
  end
end

local function bits_operand(key, count, next)
  local size = tonumber(count)
  if not (size and size >= 0 and size <= next) then
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

-- The operand of a range. `kept`: the key of its bitmap, if that was made.
local function range_operand(range, kept)
  local low = (range.low_open and '(' or '') .. range.low_text
  local high = (range.high_open and '(' or '') .. range.high_text
  local size = redis.call('ZCOUNT', range.key, low, high)
  if size <= LIST_MAX then
    return list_of(redis.call('ZRANGE', range.key, low, high, 'BYSCORE'))
  elseif kept and redis.call('EXISTS', kept) == 1 then
    return {size = redis.call('BITCOUNT', kept), key = kept, bits = true}
  end
  return {size = size, range = range}
end

-- The operands of all ranges: two keys and four arguments each. `made`: their bitmaps can be used.
local function read_ranges(first_key, first_arg, count, made)
  local ranges = {}
  for i = 1, count do
    local key, at = first_key + 2 * (i - 1), first_arg + 4 * (i - 1)
    local range = {place = i, key = KEYS[key], low_text = ARGV[at], high_text = ARGV[at + 2],
                   low_open = ARGV[at + 1] == '1', high_open = ARGV[at + 3] == '1',
                   low = tonumber(ARGV[at]) or -math.huge,
                   high = tonumber(ARGV[at + 2]) or math.huge}
    ranges[i] = range_operand(range, made and KEYS[key + 1])
  end
  return ranges
end

local function read_temps(first_key, count)
  local temps = {}
  for i = 1, count do
    temps[i] = KEYS[first_key + i - 1]
  end
  return temps
end

local function and_of(wanted, excluded, into, scratch)
  table.sort(wanted, by_size)
  if wanted[1].size == 0 then
    return nothing()
  end
  local all_large = true
  for _, operand in ipairs(wanted) do
    all_large = all_large and (operand.bits or operand.range ~= nil)
  end
  if all_large then
    return and_bits(wanted, excluded, into, scratch)
  end
  return and_lists(wanted, excluded)
end

-- Ranges among operands that must be bitmaps: the places of those that are not made yet.
local function ranges_to_make(operands, places)
  for _, operand in ipairs(operands) do
    if operand.range then
      places[#places + 1] = operand.range.place
    end
  end
end

local function pop(stack, count)
  local top = {}
  for i = 1, count do
    top[i] = table.remove(stack)
  end
  return top
end

local function any_small(operands)
  for _, operand in ipairs(operands) do
    if not operand.bits and not operand.range then
      return true
    end
  end
  return false
end

-- One "and" or "or". Returns the operand that it makes: nothing while ranges are missing, nil when
-- it is too wide.
local function combine(kind, wanted, excluded, state)
  state.used = state.used + 1
  if kind == '|' or not any_small(wanted) then
    ranges_to_make(wanted, state.missing)
    ranges_to_make(excluded, state.missing)
  end
  if #state.missing > 0 then
    return nothing()
  elseif kind == '|' then
    return or_of(wanted, state.temps[state.used])
  end
  return and_of(wanted, excluded, state.temps[state.used], state.temps[#state.temps])
end

-- Carries out the steps. `leaves`: operands by kind and place; `live`: wanted besides, or false.
-- Returns the operand that is the result, or nil and why: the places of ranges that are needed as
-- bitmaps, or MISSING_WIDE.
local function carry_out(steps, leaves, temps, live)
  local stack, state = {}, {used = 0, missing = {}, temps = temps}
  for kind, count in string.gmatch(steps, '(%S) (%d+)') do
    count = tonumber(count)
    local made
    if leaves[kind] then
      made = leaves[kind][count]
    elseif kind == '-' then
      local excluded = pop(stack, count)
      stack[#stack + 1] = live or nil
      made, stack = combine(kind, stack, excluded, state), {}
    else
      made = combine(kind, pop(stack, count), {}, state)
    end
    if not made then
      return nil, MISSING_WIDE
    end
    stack[#stack + 1] = made
  end
  if #state.missing > 0 then
    return nil, state.missing
  end
  return stack[1]
end
