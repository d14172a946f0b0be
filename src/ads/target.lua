-- ads/target: the best ad for a page; its view is recorded.
-- KEYS[1...] set      see keys.inc.lua; the last is the target
-- ARGV[1] smoothing   that the caller insists on, or ''
-- ARGV[2] keep        milliseconds: so long it can be clicked
-- ARGV[3] ttl         milliseconds, or 0
-- ARGV[4] wait        1: ads whose budget opens come back first, in steps of their own
-- ARGV[5] best        of the steps before: ad, or ''
-- ARGV[6] score       its score
-- ARGV[7] cursor      where the steps before have stopped
-- ARGV[8] locations   their number
-- ARGV[9] traits      the number of parameters of the viewer
-- ARGV[10...] page    locations; kind and value of each parameter; words
-- returns {'shown', ad, type, score, base, location, looked, then word and eCPM of each match},
-- {'none'}, {'again', best, score, cursor, looked} when another step is needed, or
-- {'smoothing', number} when it is another

-- include: keys
-- include: count
-- include: walk

local EVERY = 100     -- views of an ad after which its eCPMs are computed again
local DRIFT = 0.9     -- of its score that the best of a walk keeps at least between two steps
local EVERY_TURN = 10 -- views of a type after which those of another ad are

local FIRST_LOCATION = 10 -- of the arguments

local smoothing, keep, ttl, wait, best, score, cursor, places, traits = unpack(ARGV)
local page = read_page(ARGV, FIRST_LOCATION, tonumber(places), tonumber(traits))

local function answer(found, looked)
  local terms = terms_of(found.ad)
  local reply = {'shown', found.ad, terms.type, exact(found.score), exact(found.base),
    first_location(page, terms) or '', looked}
  for _, word in ipairs(found.words) do
    reply[#reply + 1] = word
    reply[#reply + 1] = exact(found.ecpm[word])
  end
  return reply
end

-- The best of the steps before, if it can still be shown and is worth about what it was. A walk that
-- began again at each click of its best would never end.
local function still_best()
  local terms = best ~= '' and read_terms(best)
  if not terms or redis.call('ZSCORE', DUE, best) or not first_location(page, terms) then
    return nil
  end
  local values = read_values(best)
  local found = score_of(values, page)
  found.ad = best
  if found.score < DRIFT * tonumber(score) or first_unmet(values.needs, page.viewer) then
    return nil
  end
  return found
end

local function state_of_walk()
  local state = {best = still_best(), cursor = cursor}
  if best ~= '' and not state.best then
    state.cursor = '' -- it has changed: all over again
  end
  return state
end

local function record_view(found, clock)
  local ad = found.ad
  local terms = terms_of(ad)
  check_counts('views', terms.type, ad, found.words)
  redis.call('HSET', TARGET, 'ad', ad, 'serial', terms.serial, 'type', terms.type,
    'price', string.format('%.0f', terms.price), 'words', table.concat(found.words, '\0') .. '\0')
  redis.call('PEXPIRE', TARGET, keep)
  local views = count('views', ad, found.words)
  local of_type = increase(META, terms.type .. ' views', 1)
  local spent = terms.type == 'cpm' and pay(ad, terms, found.words, cost_of(terms), clock) or nil
  if spent or views % EVERY == 0 then
    settle(ad, terms, read_values(ad), views % EVERY == 0, spent, clock)
  elseif EVENT[terms.type] and of_type % EVERY_TURN == 0 then
    renew(clock) -- not both in one step
  end
end

-- A request that is repeated finds its view.
local function recorded()
  local ad = redis.call('HGET', TARGET, 'ad')
  if not ad then
    return nil
  end
  if not redis.call('HGET', VALUES, ad) then
    return {'none'}
  end
  local found = score_of(read_values(ad), page)
  found.ad = ad
  return answer(found, 0)
end

local stored = redis.call('HGET', META, 'smoothing')
if not stored then
  return {'none'}
end
if smoothing ~= '' and smoothing ~= stored then
  return {'smoothing', stored}
end
local before = recorded()
if before then
  return before
end
check_types({ADS, VALUES, COUNTS, WORDS, HEADS}, {INDEX, TURN})
local clock = read_clock()
if wait == '1' and bring_back(clock) then
  return {'again', '', '0', '', 0}
end
local state = state_of_walk()
if not walk(page, state) then
  local found = state.best
  return {'again', found and found.ad or '', found and exact(found.score) or '0', state.cursor,
    state.looked}
end
if not state.best then
  return {'none'}
end
local reply = answer(state.best, state.looked)
record_view(state.best, clock)
expire_in(ttl)
return reply
