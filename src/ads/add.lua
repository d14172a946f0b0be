-- ads/add: an ad, new or instead of the one of that name.
-- KEYS[1...] set      see keys.inc.lua
-- ARGV[1] smoothing   of a new set; that the caller insists on, or ''
-- ARGV[2] default     smoothing of a new set if the caller does not insist
-- ARGV[3] ttl         milliseconds, or 0
-- ARGV[4] ad
-- ARGV[5] type        cpm, cpc or cpa
-- ARGV[6] price       millionths
-- ARGV[7] budget      of a day, in millionths; 0: none
-- ARGV[8] locations   their number
-- ARGV[9] needs       the number of required kinds
-- ARGV[10...] rest    locations; for each need kind, number of values, values; words
-- returns {'added'}, {'replaced'}, or {'smoothing', number} when it is another

-- include: keys
-- include: count
-- include: gate

local smoothing, default, ttl, ad, kind, price, budget, places, needs = unpack(ARGV)
local FIRST_LOCATION = 10 -- of the arguments

local function read_locations()
  local locations = {}
  for i = FIRST_LOCATION, FIRST_LOCATION + places - 1 do
    locations[#locations + 1] = ARGV[i]
  end
  return locations
end

-- The values of the ad without its eCPMs.
local function read_given()
  local given = {needs = {}, words = {}, ecpm = {}}
  local at = FIRST_LOCATION + places
  for _ = 1, tonumber(needs) do
    local need = {ARGV[at]}
    local last = at + 1 + tonumber(ARGV[at + 1])
    for i = at + 2, last do
      need[#need + 1] = ARGV[i]
    end
    given.needs[#given.needs + 1] = need
    at = last + 1
  end
  for i = at, #ARGV do
    given.words[#given.words + 1] = ARGV[i]
  end
  return given
end

-- What was counted for words that the ad no longer has.
local function forget_words(old, new)
  local has, gone = {}, {}
  for _, word in ipairs(new.words) do
    has[word] = true
  end
  for _, word in ipairs(old.words) do
    if not has[word] then
      for _, what in ipairs({'views', 'clicks', 'actions', 'spent'}) do
        gone[#gone + 1] = of_word(what, word, ad)
      end
    end
  end
  if #gone > 0 then
    redis.call('HDEL', WORDS, unpack(gone))
  end
end

-- Stores the terms, counted in :gates. Returns them.
local function store_terms(old, locations, given)
  local kinds, gates = gates_for(locations, given.needs)
  local terms = {serial = old and old.serial or increase(META, 'serial', 1),
    type = kind, price = tonumber(price), budget = tonumber(budget), locations = locations,
    kinds = kinds, gates = gates}
  redis.call('HSET', ADS, ad, cmsgpack.pack(terms))
  local again = old and old.kinds == kinds
  enter_kinds(kinds, again)
  if old and not again then
    leave_kinds(old.kinds)
  end
  return terms
end

-- Into the index, or out of it until its budget allows.
local function put_in_place(terms, values, old_place)
  local clock = read_clock()
  local due = closed_until(terms, spent_today(ad, clock), clock)
  move(ad, old_place, {})
  move(ad, {}, due and {} or place_of(terms, values)) -- all of it: members may have been lost
  if due then
    redis.call('ZADD', DUE, due, ad)
  else
    redis.call('ZREM', DUE, ad)
  end
end

local stored = redis.call('HGET', META, 'smoothing')
if stored and smoothing ~= '' and smoothing ~= stored then
  return {'smoothing', stored}
end
check_types({ADS, VALUES, COUNTS, WORDS, HEADS, GATES}, {INDEX, DUE, TURN})
local old = read_terms(ad)
local old_values = old and read_values(ad)
local old_place = old and not redis.call('ZSCORE', DUE, ad) and place_of(old, old_values)
if not stored then
  redis.call('HSET', META, 'smoothing', smoothing ~= '' and smoothing or default)
end
local values = read_given()
local terms = store_terms(old, read_locations(), values)
compute(ad, terms, values)
write_values(ad, values)
put_in_place(terms, values, old_place or {})
if EVENT[kind] then
  put_last(ad)
else
  redis.call('ZREM', TURN, ad)
end
if old then
  forget_words(old_values, values)
end
expire_in(ttl)
return {old and 'replaced' or 'added'}
