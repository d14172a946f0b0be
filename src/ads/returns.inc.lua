-- Ads whose budget is spent are not in the index but in :due, by the time at which they come back.
-- include: index
-- include: money
-- include: shared/ranked

local returns = {}

local RETURNS = 100     -- most ads put back in one step
local RETURN_WORK = 100 -- work after which a step ends: reads and writes of ads

-- The ads that are due; if there are none, ads whose time was set by a clock that was far ahead.
function returns.due_ads(calendar)
  local ads = ranked.up_to(DUE, calendar.ms, RETURNS)
  if #ads == 0 then
    local far = calendar.ms + DAY + HOUR
    ads = redis.call('ZRANGE', DUE, far, '+inf', 'BYSCORE', 'LIMIT', 0, RETURNS)
  end
  return ads
end

-- The number of members of an ad in the index.
function returns.size_of(place)
  local size = 0
  for _ in pairs(place) do
    size = size + 1
  end
  return size
end

-- Puts an ad back into the index, if its budget allows it. Returns the work done.
function returns.put_back(ad, calendar)
  local terms = records.read_terms(ad)
  if not terms then
    redis.call('ZREM', DUE, ad)
    return 1
  end
  local work = 1 + #terms.locations + #terms.gates
  local again = money.closed_until(terms, money.spent_today(ad, calendar), calendar)
  if again then
    redis.call('ZADD', DUE, again, ad)
    return work
  end
  local place = index.place_of(terms, records.read_values(ad))
  index.move(ad, {}, place)
  redis.call('ZREM', DUE, ad)
  return work + returns.size_of(place)
end

-- Puts ads back that are due. False: no ad was due. True: more ads may be due.
function returns.bring_back(calendar)
  if redis.call('ZCARD', DUE) == 0 then
    return false
  end
  local ads, work = returns.due_ads(calendar), 0
  for _, ad in ipairs(ads) do
    if work < RETURN_WORK then
      work = work + returns.put_back(ad, calendar)
    end
  end
  return #ads > 0
end
