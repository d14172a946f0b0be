-- ads/add: add an ad, or replace the ad of the same name.
-- KEYS[1...] set      see keys.inc.lua
-- ARGV[1] smoothing   that the set must have or gets; '': any
-- ARGV[2] default     smoothing of a new set if any will do
-- ARGV[3] explore     percent, from now on; '': as it is
-- ARGV[4] ttl         milliseconds, or 0
-- ARGV[5] ad
-- ARGV[6] type        cpm, cpc or cpa
-- ARGV[7] price       millionths
-- ARGV[8] budget      of a day, in millionths; 0: none
-- ARGV[9] locations   their number
-- ARGV[10] needs      the number of required kinds
-- ARGV[11...] rest    locations; for each need kind, number of values, values; words
-- returns {'added'}, {'replaced'}, or {'smoothing', number} when the set has another smoothing
-- include: keys
-- include: counting
-- include: gating

local FIRST_LOCATION = 11 -- index of the first location in the arguments
local smoothing, default, explore, ttl, ad, kind, price, budget, places, needs = unpack(ARGV)

local function read_locations()
  local locations = {}
  for i = FIRST_LOCATION, FIRST_LOCATION + places - 1 do
    locations[#locations + 1] = ARGV[i]
  end
  return locations
end

-- Reads the values of the ad from the arguments, without its eCPMs and bounds.
local function read_given()
  local given = {needs = {}, words = {}, ecpm = {}, bounds = {}}
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

-- Removes the counts of words that the ad no longer has.
local function remove_old_words(old, new)
  local has, gone = {}, {}
  for _, word in ipairs(new.words) do
    has[word] = true
  end
  for _, word in ipairs(old.words) do
    if not has[word] then
      gone[#gone + 1] = word
    end
  end
  records.remove_words(ad, gone)
end

-- Stores the terms of the ad and counts its gates in :gates. Returns the terms.
local function store_terms(old, locations, given)
  local kinds, gates = gating.names_for(locations, given.needs)
  local terms = {serial = old and old.serial or records.increase(META, 'serial', 1),
    type = kind, price = tonumber(price), budget = tonumber(budget), locations = locations,
    kinds = kinds, gates = gates}
  redis.call('HSET', ADS, ad, cmsgpack.pack(terms))
  local again = old and old.kinds == kinds
  gating.enter_kinds(kinds, again)
  if old and not again then
    gating.leave_kinds(old.kinds)
  end
  return terms
end

-- Puts the ad into the index, or keeps it out until its budget allows it. Writes all members again,
-- because some may have been lost.
local function put_in_place(terms, values, old_place)
  local calendar = money.read_calendar()
  local due = money.closed_until(terms, money.spent_today(ad, calendar), calendar)
  index.move(ad, old_place, {})
  index.move(ad, {}, due and {} or index.place_of(terms, values))
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
types.check_hashes(ADS, VALUES, COUNTS, WORDS, HEADS, GATES)
types.check_zsets(INDEX, DUE, TURN)
local old = records.read_terms(ad)
local old_values = old and records.read_values(ad)
local old_place = old and not redis.call('ZSCORE', DUE, ad) and index.place_of(old, old_values)
if not stored then
  redis.call('HSET', META, 'smoothing', smoothing ~= '' and smoothing or default)
end
if explore ~= '' then
  redis.call('HSET', META, 'explore', explore)
end
local values = read_given()
local terms = store_terms(old, read_locations(), values)
rates.compute(ad, terms, values)
records.write_values(ad, values)
put_in_place(terms, values, old_place or {})
if EVENT[kind] then
  counting.put_last(ad)
else
  redis.call('ZREM', TURN, ad)
end
if old then
  remove_old_words(old_values, values)
end
records.expire_in(ttl)
return {old and 'replaced' or 'added'}
