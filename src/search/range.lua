-- search/range: one step of making the bitmap of the documents whose value is in a range.
-- KEYS[1...] shard  see keys.inc.lua; then the sorted set of the field, the bitmap while it is
--   made, the complete bitmap, and the rungs of the field
-- ARGV[1] token  of the index
-- ARGV[2] field  its name in :ladder
-- ARGV[3] low    bound as ZRANGE BYSCORE takes it
-- ARGV[4] high   ditto; documents without a value have the score inf, which is outside
-- ARGV[5] place  where the last step ended; '' at first
-- ARGV[6] most   numbers of this step
-- ARGV[7] ttl    milliseconds that the bitmap is kept
-- flags: allow-oom
-- returns 'stale', or {version, place to go on from, '' when the bitmap is complete}
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

-- Returns the bound at which the part before a bound ends, and the other way round: '(5' for '5',
-- '5' for '(5'.
local function other_side(bound)
  return string.match(bound, '^%((.*)') or '(' .. bound
end

-- The rung whose documents differ least from the documents from a bound on: {key, from, below}.
-- `from` is the bound at which the rung begins, `below` the bound that ends before it. Without a
-- key it is the empty rung behind all values.
local function nearest_rung(rungs, bound)
  local should = redis.call('ZCOUNT', FIELD, bound, ALL)
  local nearest, distance = {from = ALL, below = ALL}, should
  for _, rung in ipairs(rungs) do
    local off = math.abs(ladders.count(FIELD, rung.threshold, 'rung') - should)
    if rung.ready and off < distance then
      nearest = {key = KEYS[FIRST_RUNG + rung.step - 1], from = rung.threshold,
                 below = other_side(rung.threshold)}
      distance = off
    end
  end
  return nearest
end

-- Starts the bitmap with the documents between the two rungs that are nearest to the ends. Returns
-- the parts of the field that are then still wrong, {low, high, bit} each: missing documents come
-- first.
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

-- Sets or clears the bits of the next documents of a part, at most `count`, behind the place `from`
-- (nil at first). Returns how many, and the last one. All numbers are below `next`.
local function mend(part, from, count, next)
  local first_bound, last_bound, bit = unpack(part)
  -- Ranks lead to the step at once; with LIMIT the server would walk over all earlier documents.
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
-- The state between two steps: the parts, the index of the first that is left, and the place in it.
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
