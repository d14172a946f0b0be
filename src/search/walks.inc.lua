-- Walks down the order of a field until enough documents of a result are found.
-- include: keys
-- include: sets
-- include: ladders
-- include: places
-- include: shared/clock

local walks = {}

-- The measured cost of a document: when the walk reads and tests it, or when it is sent to the
-- client for sorting.
local WALK_COST, LIST_COST = 0.35, 0.8
local BLOCK_LEAST, BLOCK_MOST = 32, 500
-- Most documents that one walk tests, and hits after which it ends. The next walk goes on from the
-- last one.
local WALK_MAX, WALK_HITS = 3000, 500
-- A result of at most this many documents is sent whole.
local SMALL = 48
-- Most documents that a ladder is asked for: it gives up to twice as many, all in one reply.
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

-- At least `wanted` of the first documents of the result, found with the ladder of the field,
-- {name, side, steps}; nil: the ladder does not help.
function walks.nearest(result, field, wanted, scratch)
  if result.size <= SMALL or wanted > NEAREST_MOST then
    return nil
  end
  for step = LADDER_STEPS, 1, -1 do
    if result.size * ladders.step_share(step) >= wanted * AMPLE + MORE then
      local name = ladders.step_name(field.name, field.side, step)
      local ready = redis.call('HGET', LADDER, name .. 'ready')
      local list = ready and walks.on_step(result, field.steps[step], scratch)
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

-- The members at the ranks [from, to] of the order. Documents without a value have an infinite
-- score; they come last, even when the order is reversed. `present`: how many have a value.
function walks.members_at(field_key, from, to, all, present, reverse)
  if not reverse then
    return redis.call('ZRANGE', field_key, from, to)
  end
  local missing = all - present
  local shift = from < present and missing or -present
  return redis.call('ZRANGE', field_key, from + shift, to + shift, 'REV')
end

-- The first rank behind a place, in this order.
function walks.rank_behind(field_key, place, all, present, reverse)
  local before, up_to, score = places.ranks(field_key, place)
  if not reverse then
    return up_to
  end
  return score == 'inf' and present + all - before or present - before
end

-- The numbers in members of the sorted set of a text field.
function walks.numbers_of_members(members)
  local numbers = {}
  for i = 1, #members do
    numbers[i] = string.match(members[i], '%z(%d+)$') or sets.damaged('the order of a field')
  end
  return numbers
end

-- Walks on from way.place, until way.stop_us by the server's clock. Returns {numbers, members,
-- skipped, place}: at most way.most hits behind the first way.skip ones, their members, how many
-- hits it has skipped, and the place to go on from, nil at the end.
function walks.run(result, field_key, way)
  local all = redis.call('ZCARD', field_key)
  local present = all - redis.call('ZCOUNT', field_key, 'inf', 'inf')
  local first = way.place == '' and 0
    or walks.rank_behind(field_key, way.place, all, present, way.reverse)
  local expected = walks.length(result, all, way.skip + way.most)
  local test = walks.result_tester(result, expected)
  local block = math.max(BLOCK_LEAST, math.min(BLOCK_MOST, math.ceil(expected)))
  local hits, members, skipped, last = {}, {}, 0, nil
  local rank, stop = first, math.min(all, first + WALK_MAX)

  -- Takes the documents of a block that are hits.
  local function take(block_members)
    local numbers = way.is_text and walks.numbers_of_members(block_members) or block_members
    local kept, next_kept = test(numbers), 1 -- in the order of the block
    for i, number in ipairs(numbers) do
      if number == kept[next_kept] then
        next_kept = next_kept + 1
        if skipped < way.skip then
          skipped = skipped + 1
        elseif #hits < way.most then
          hits[#hits + 1], members[#members + 1] = number, block_members[i]
        end
      end
    end
    last = #hits < way.most and block_members[#block_members] or members[#members]
  end

  local function is_late()
    return rank > first and clock.us() > way.stop_us
  end
  -- At most WALK_MAX documents and WALK_HITS hits.
  while rank < stop and #hits < math.min(way.most, WALK_HITS)
    and skipped + #hits < result.size and not is_late() do
    local behind = math.min(rank + block, stop)
    if rank < present and behind > present then
      behind = present
    end
    take(walks.members_at(field_key, rank, behind - 1, all, present, way.reverse))
    rank = behind
    block = math.min(BLOCK_MOST, block * 2)
  end
  local is_end = #hits < way.most and (rank >= all or skipped + #hits >= result.size)
  return {numbers = hits, members = members, skipped = skipped,
          place = not is_end and places.of(field_key, last) or nil}
end
