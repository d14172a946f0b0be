-- Walking down the order of a field until enough documents of a result are found. FIELD is
-- the script's: the sorted set of the field.
-- include: keys
-- include: operands
-- include: ladder

-- What a document costs, measured: read and tested by the walk, or sent to be sorted by the client.
local WALK_COST, LIST_COST = 0.35, 0.8
local BLOCK_LEAST, BLOCK_MOST = 32, 2000
-- Documents that one walk looks at; the client goes on from there.
local WALK_MAX = 10000

-- A result of so many is sent whole.
local SMALL = 48
-- A step is tried when it should have so many of the hits that are wanted, and some more.
local AMPLE, MORE = 1.25, 4

-- The documents of the result that are on one step; nil: there are many.
local function on_the_step(result, bits, scratch)
  if result.list then
    return keep_bits(result.list, bits, true)
  end
  redis.call('BITOP', 'AND', scratch, result.key, bits)
  local count = redis.call('BITCOUNT', scratch)
  return count <= LIST_MAX and (read_bits(scratch, count, 0, count)) or nil
end

-- The first documents of the result, `wanted` of them at least, by the ladder of the field; nil: it
-- is of no help.
local function nearest(result, field, side, wanted, first_step, scratch)
  if result.size <= SMALL then
    return nil
  end
  for step = LADDER_STEPS, 1, -1 do
    if result.size * step_share(step) >= wanted * AMPLE + MORE then
      local ready = redis.call('HGET', LADDER, step_name(field, side, step) .. 'ready')
      local list = ready and on_the_step(result, KEYS[first_step + step - 1], scratch)
      if ready and (not list or #list >= wanted) then
        return list
      end
    end
  end
  return nil
end

-- How many documents a walk is expected to look at to find `hits`.
local function walk_length(result, all, hits)
  return math.min(all, hits * all / math.max(result.size, 1))
end

local function walk_is_cheaper(result, all, hits)
  if result.size == 0 then
    return false
  elseif result.size > LIST_MAX then
    return true
  end
  return walk_length(result, all, hits) * WALK_COST < result.size * LIST_COST
end

-- A function that answers which of some numbers are in the result. `expected`: how many it will be
-- asked for.
local function result_tester(result, expected)
  if result.bits and expected * BYTES_PER_TEST < redis.call('STRLEN', result.key) then
    return function(list)
      return keep_bits(list, result.key, true)
    end
  end
  local has = result.bits and bit_tester(result.key)
  if not has then
    local set = lookup(result.list)
    has = function(number)
      return set[number]
    end
  end
  return function(list)
    local kept = {}
    for i = 1, #list do
      if has(tonumber(list[i]) or damaged('the order of a field')) then
        kept[#kept + 1] = list[i]
      end
    end
    return kept
  end
end

-- The numbers at the places [from, to] of the order. Documents without a value have an infinite
-- score: they are last, also when the order is reversed. `present`: how many have a value.
local function numbers_at(from, to, all, present, reverse)
  if not reverse then
    return redis.call('ZRANGE', FIELD, from, to)
  end
  local missing = all - present
  local shift = from < present and missing or -present
  return redis.call('ZRANGE', FIELD, from + shift, to + shift, 'REV')
end

local function numbers_of_members(list)
  for i = 1, #list do
    list[i] = string.match(list[i], '%z(%d+)$') or damaged('the order of a field')
  end
  return list
end

-- Returns the hits from number way.skip on, way.most of them; the place to go on with, or nil when
-- all are there; and how many hits were before that place.
local function walk(result, way)
  local all = redis.call('ZCARD', FIELD)
  local present = all - redis.call('ZCOUNT', FIELD, 'inf', 'inf')
  local wanted = way.skip + way.most
  local expected = walk_length(result, all, wanted - way.found)
  local test = result_tester(result, expected)
  local block = math.max(BLOCK_LEAST, math.min(BLOCK_MOST, math.ceil(expected)))
  local hits, place, last = {}, way.place, math.min(all, way.place + WALK_MAX)
  -- At most WALK_MAX places.
  while place < last and way.found < wanted and way.found < result.size do
    local stop = math.min(place + block, last)
    if place < present and stop > present then
      stop = present
    end
    local list = numbers_at(place, stop - 1, all, present, way.reverse)
    list = test(way.is_text and numbers_of_members(list) or list)
    for i = 1, #list do
      way.found = way.found + 1
      if way.found > way.skip and way.found <= wanted then
        hits[#hits + 1] = list[i]
      end
    end
    place = stop
    block = math.min(BLOCK_MOST, block * 2)
  end
  local done = way.found >= wanted or way.found >= result.size or place >= all
  return hits, not done and place or nil, way.found
end
