-- Walks down the order of a field until enough documents of a result are found.
-- include: keys
-- include: sets
-- include: ladders
-- include: shared/clock

local walks = {}

-- The measured cost of a document: when the walk reads and tests it, or when it is sent to the
-- client for sorting.
local WALK_COST, LIST_COST = 0.35, 0.8
local BLOCK_LEAST, BLOCK_MOST = 32, 500
-- Most documents that one walk tests, and hits after which it ends; the client then continues at
-- that rank.
local WALK_MAX, WALK_HITS = 3000, 500
-- A result of at most this many documents is sent whole.
local SMALL = 48
-- Most documents that are wanted from a ladder: it gives up to twice as many, all in one reply.
local NEAREST_MOST = 300
-- A step is tried when it should contain AMPLE times the wanted hits, and MORE in addition.
local AMPLE, MORE = 1.25, 4

-- The documents of the result that are on one step; nil: more than LIST_MAX.
function walks.on_step(result, bits, scratch)
  if result.list then
    return sets.keep_bits(result.list, bits, true)
  end
  redis.call('BITOP', 'AND', scratch, result.key, bits)
  local count = redis.call('BITCOUNT', scratch)
  return count <= LIST_MAX and (sets.read_bits(scratch, count, 0, count)) or nil
end

-- At least `wanted` of the first documents of the result, found with the ladder of the field; nil:
-- the ladder does not help.
function walks.nearest(result, field, side, wanted, step_keys, scratch)
  if result.size <= SMALL or wanted > NEAREST_MOST then
    return nil
  end
  for step = LADDER_STEPS, 1, -1 do
    if result.size * ladders.step_share(step) >= wanted * AMPLE + MORE then
      local ready = redis.call('HGET', LADDER, ladders.step_name(field, side, step) .. 'ready')
      local list = ready and walks.on_step(result, step_keys[step], scratch)
      if ready and (not list or #list >= wanted) then
        return list
      end
    end
  end
  return nil
end

-- How many documents a walk is expected to test until it finds `hits`.
function walks.length(result, all, hits)
  return math.min(all, hits * all / math.max(result.size, 1))
end

-- Whether a walk is cheaper than sending the whole result.
function walks.is_cheaper(result, all, hits)
  if result.size == 0 then
    return false
  elseif result.size > LIST_MAX then
    return true
  end
  return walks.length(result, all, hits) * WALK_COST < result.size * LIST_COST
end

-- Returns a function that finds which of some numbers are in the result. `expected`: how many
-- numbers it will get in total.
function walks.result_tester(result, expected)
  if result.bits and expected * BYTES_PER_TEST < redis.call('STRLEN', result.key) then
    return function(list)
      return sets.keep_bits(list, result.key, true)
    end
  end
  local has = result.bits and sets.bit_tester(result.key)
  if not has then
    local set = sets.lookup(result.list)
    has = function(number)
      return set[number]
    end
  end
  return function(list)
    local kept = {}
    for i = 1, #list do
      if has(tonumber(list[i]) or sets.damaged('the order of a field')) then
        kept[#kept + 1] = list[i]
      end
    end
    return kept
  end
end

-- The numbers at the ranks [from, to] of the order. Documents without a value have an infinite
-- score; they come last, even when the order is reversed. `present`: how many have a value.
function walks.numbers_at(field_key, from, to, all, present, reverse)
  if not reverse then
    return redis.call('ZRANGE', field_key, from, to)
  end
  local missing = all - present
  local shift = from < present and missing or -present
  return redis.call('ZRANGE', field_key, from + shift, to + shift, 'REV')
end

-- The numbers in members of the sorted set of a text field.
function walks.numbers_of_members(list)
  for i = 1, #list do
    list[i] = string.match(list[i], '%z(%d+)$') or sets.damaged('the order of a field')
  end
  return list
end

-- Continues the walk at way.place, until way.stop_us by the server's clock. Returns way.most hits from hit number way.skip on; the rank to
-- continue at, or nil at the end; and the number of hits before that rank.
function walks.run(result, field_key, way)
  local all = redis.call('ZCARD', field_key)
  local present = all - redis.call('ZCOUNT', field_key, 'inf', 'inf')
  local wanted = way.skip + way.most
  local expected = walks.length(result, all, wanted - way.found)
  local test = walks.result_tester(result, expected)
  local block = math.max(BLOCK_LEAST, math.min(BLOCK_MOST, math.ceil(expected)))
  local hits, place, last = {}, way.place, math.min(all, way.place + WALK_MAX)
  local function is_late()
    return place > way.place and clock.us() > way.stop_us
  end
  -- At most WALK_MAX places and WALK_HITS hits.
  while place < last and way.found < wanted and way.found < result.size and #hits < WALK_HITS
    and not is_late() do
    local stop = math.min(place + block, last)
    if place < present and stop > present then
      stop = present
    end
    local list = walks.numbers_at(field_key, place, stop - 1, all, present, way.reverse)
    list = test(way.is_text and walks.numbers_of_members(list) or list)
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
