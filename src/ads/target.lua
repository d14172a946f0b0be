-- ads/target: find the best ad for a page, and record its view.
-- KEYS[1...] set      see keys.inc.lua; the last is the target
-- ARGV[1] smoothing   that the set must have; '': any
-- ARGV[2] keep        milliseconds during which it can be clicked
-- ARGV[3] ttl         milliseconds, or 0
-- ARGV[4] wait        1: ads whose budget opens come back first, in steps of their own
-- ARGV[5] best        of the steps before: ad, or ''
-- ARGV[6] rank        its rank
-- ARGV[7] cursor      where the steps before have stopped
-- ARGV[8] locations   their number
-- ARGV[9] traits      the number of parameters of the viewer
-- ARGV[10...] page    locations; kind and value of each parameter; words
-- returns {'shown', ad, type, score, base, location, looked, rank, then word and eCPM of each
--   match}, {'none'}, {'again', best, rank, cursor, looked} when another step is needed, or
--   {'smoothing', number} when the set has another smoothing
-- include: keys
-- include: counting
-- include: walks

local EVERY = 100     -- views of an ad after which its eCPMs are computed again
local SOON = 5        -- the same for a new ad that is being tried; with more views ...
local SHARE_SOON = 20 -- ... one in this many of its views
local DRIFT = 0.9     -- the best ad of a walk may lose this much of its rank between two steps
local EVERY_TURN = 10 -- views of a type after which another ad is updated
local FIRST_LOCATION = 10 -- index of the first location in the arguments
local smoothing, keep, ttl, wait, best, rank, cursor, places, traits = unpack(ARGV)

local page = pages.read(ARGV, FIRST_LOCATION, tonumber(places), tonumber(traits))

-- The reply for an ad that is shown.
local function answer(found, looked)
  local terms = records.terms_of(found.ad)
  local reply = {
    'shown', found.ad, terms.type, decimal.exact(found.score), decimal.exact(found.base),
    pages.first_location(page, terms) or '', looked, decimal.exact(found.rank),
  }
  for _, word in ipairs(found.words) do
    reply[#reply + 1] = word
    reply[#reply + 1] = decimal.exact(found.ecpm[word])
  end
  return reply
end

-- The best ad of the steps before, if it can still be shown and its rank is about the same. A walk
-- that starts over at each click on its best ad might never end.
local function still_best()
  local terms = best ~= '' and records.read_terms(best)
  if not terms or redis.call('ZSCORE', DUE, best) or not pages.first_location(page, terms) then
    return nil
  end
  local values = records.read_values(best)
  local found = pages.score_of(values, page)
  found.ad = best
  if found.rank < DRIFT * tonumber(rank) or pages.first_unmet(values.needs, page.viewer) then
    return nil
  end
  return found
end

-- The state in which the walk continues. The walk starts over when the best ad of the steps before
-- has changed.
local function state_of_walk()
  local state = {best = still_best(), cursor = cursor}
  if best ~= '' and not state.best then
    state.cursor = ''
  end
  return state
end

-- Whether this view updates the eCPMs of the ad. Those of a new ad change fast.
local function is_due(views, explore)
  if explore == 0 then
    return views % EVERY == 0
  end
  return views % math.max(SOON, math.min(EVERY, math.floor(views / SHARE_SOON))) == 0
end

-- Counts a view of the ad, charges it, and notes the target.
local function record_view(found, explore, calendar)
  local ad = found.ad
  local terms = records.terms_of(ad)
  counting.check_counts('views', terms.type, ad, found.words)
  redis.call('HSET', TARGET, 'ad', ad, 'serial', terms.serial, 'type', terms.type,
    'price', decimal.whole(terms.price), 'words', table.concat(found.words, '\0') .. '\0')
  redis.call('PEXPIRE', TARGET, keep)
  local views = counting.count('views', ad, found.words)
  local of_type = records.increase(META, terms.type .. ' views', 1)
  local spent
  if terms.type == 'cpm' then
    spent = counting.pay(ad, terms, found.words, money.cost_of(terms), calendar)
  end
  local due = is_due(views, explore)
  if spent or due then
    counting.settle(ad, terms, records.read_values(ad), due, spent, calendar)
  end
  -- At most one ad is updated in a step. The bounds of ads that are not shown grow while other ads,
  -- of any type, are shown.
  if not due and of_type % EVERY_TURN == 0 and (EVENT[terms.type] or explore > 0) then
    counting.renew(calendar)
  end
end

-- The reply to a repeated request, whose view is recorded already.
local function recorded()
  local ad = redis.call('HGET', TARGET, 'ad')
  if not ad then
    return nil
  end
  if not redis.call('HGET', VALUES, ad) then
    return {'none'}
  end
  local found = pages.score_of(records.read_values(ad), page)
  found.ad = ad
  return answer(found, 0)
end

local stored, explore = unpack(redis.call('HMGET', META, 'smoothing', 'explore'))
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
types.check_hashes(ADS, VALUES, COUNTS, WORDS, HEADS)
types.check_zsets(INDEX, TURN)
local calendar = money.read_calendar()
if wait == '1' and returns.bring_back(calendar) then
  return {'again', '', '0', '', 0}
end
local state = state_of_walk()
if not walks.best(page, state) then
  local found = state.best
  return {
    'again', found and found.ad or '', found and decimal.exact(found.rank) or '0', state.cursor,
    state.looked,
  }
end
if not state.best then
  return {'none'}
end
local reply = answer(state.best, state.looked)
record_view(state.best, exploring.read(explore), calendar)
records.expire_in(ttl)
return reply
