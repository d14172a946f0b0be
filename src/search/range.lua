-- search/range: the bitmap of the documents whose value is in a range, a step of it.
-- KEYS[1...] shard  see keys.inc.lua; then the sorted set of the field, the bitmap while it is
--   made, when it is made, and the rungs of the field
-- ARGV[1] token  of the index
-- ARGV[2] field  its name in :ladder
-- ARGV[3] low    bound as ZRANGE BYSCORE takes it
-- ARGV[4] high   ditto; documents without a value have the score inf, which is outside
-- ARGV[5] place  where the last step ended; '' at first
-- ARGV[6] most   numbers of this step
-- ARGV[7] ttl    milliseconds that the bitmap is kept
-- flags: allow-oom
-- returns 'stale', or {version, place to go on from, '' when it is made}
-- include: keys
-- include: making
-- include: ladders
-- include: places
-- include: indexes
-- include: sets

local FIELD, BITS, MADE = unpack(KEYS, SHARD_KEYS + 1)
local FIRST_RUNG = SHARD_KEYS + 4
local ALL = '(inf' -- the bound behind all values
local token, field, low, high, place, most, ttl = unpack(ARGV)
most = tonumber(most)

-- The bound at which what a bound begins ends, or the other way round.
local function other_side(bound)
  return string.match(bound, '^%((.*)') or '(' .. bound
end

-- The rung whose documents are most like those from a bound on: {key, from, below}, its bounds from
-- both sides; without a key the empty one behind all values.
local function nearest_rung(rungs, bound)
  local should = redis.call('ZCOUNT', FIELD, bound, ALL)
  local nearest, distance = {from = ALL, below = ALL}, should
  for _, rung in ipairs(rungs) do
    local off = math.abs(ladders.count(FIELD, rung.threshold, 'rung') - should)
    if rung.ready and off < distance then
      nearest = {key = KEYS[FIRST_RUNG + rung.place - 1], from = rung.threshold,
                 below = other_side(rung.threshold)}
      distance = off
    end
  end
  return nearest
end

-- Starts the bitmap with the documents between the two rungs that are nearest to the ends. Returns the
-- parts of the field that are wrong then, {low, high, bit} each: what is missing comes first.
local function begin()
  local rungs = ladders.rungs_of(ladders.read_all(), field)
  local behind = other_side(high)
  local first, last = nearest_rung(rungs, low), nearest_rung(rungs, behind)
  if first.key == last.key then
    return {{low, high, '1'}}
  end
  redis.call('BITOP', 'XOR', BITS, first.key or BITS, last.key or BITS)
  return {
    {low, first.below, '1'}, {last.from, high, '1'},
    {first.from, other_side(low), '0'}, {behind, last.below, '0'},
  }
end

-- Sets or clears the bits of the next documents of a part, up to `count`. Returns how many they were,
-- and the last of them. All numbers are below `next`.
local function mend(part, from, count, next)
  local first_bound, last_bound, bit = unpack(part)
  -- By ranks a step is read at once; by LIMIT the server would walk over all that came before.
  local first = redis.call('ZCOUNT', FIELD, '-inf', other_side(first_bound))
  local behind = first + redis.call('ZCOUNT', FIELD, first_bound, last_bound)
  if from then
    local _, up_to = places.ranks(FIELD, from)
    first = up_to
  end
  local last = math.min(first + count, behind) - 1
  local numbers = first <= last and redis.call('ZRANGE', FIELD, first, last) or {}
  sets.set_numbers(BITS, numbers, bit, next)
  return #numbers, numbers[#numbers]
end

local index = indexes.read()
if index.token ~= token then
  return 'stale'
elseif making.is_made(BITS, MADE, place == '', ttl) then
  return {index.version, ''}
end
-- The parts that are left, the first of them from a place on.
local state = place ~= '' and cmsgpack.unpack(place) or {parts = begin(), at = 1}
for at = state.at, #state.parts do
  local count, last = mend(state.parts[at], state.from, most, index.next)
  most, state.from = most - count, nil
  if most == 0 then
    redis.call('PEXPIRE', BITS, ttl)
    return {index.version, cmsgpack.pack({parts = state.parts, at = at,
                                          from = places.of(FIELD, last)})}
  end
end
making.finish(BITS, MADE, ttl)
return {index.version, ''}
