-- Ads whose budget is spent are not in the index but in :due, by the time at which they come back.
-- include: index
-- include: money

local RETURNS = 100      -- in one step
local RETURN_WORK = 100  -- ditto, and one ad more: what is read of ads, and what is written

-- Those whose time has come; and those whose time was set by a clock that was far ahead.
local function due_ads(clock)
  local ads = redis.call('ZRANGE', DUE, '-inf', clock.ms, 'BYSCORE', 'LIMIT', 0, RETURNS)
  if #ads == 0 then
    ads = redis.call('ZRANGE', DUE, clock.ms + DAY + HOUR, '+inf', 'BYSCORE', 'LIMIT', 0, RETURNS)
  end
  return ads
end

local function size_of(place)
  local size = 0
  for _ in pairs(place) do
    size = size + 1
  end
  return size
end

-- Puts an ad back into the index, if its budget allows. Returns the work it was.
local function put_back(ad, clock)
  local terms = read_terms(ad)
  if not terms then
    redis.call('ZREM', DUE, ad)
    return 1
  end
  local work = 1 + #terms.locations + #terms.gates
  local again = closed_until(terms, spent_today(ad, clock), clock)
  if again then
    redis.call('ZADD', DUE, again, ad)
    return work
  end
  local place = place_of(terms, read_values(ad))
  move(ad, {}, place)
  redis.call('ZREM', DUE, ad)
  return work + size_of(place)
end

-- False: there were none that are due. True: there may be others.
local function bring_back(clock)
  if redis.call('ZCARD', DUE) == 0 then
    return false
  end
  local ads, work = due_ads(clock), 0
  for _, ad in ipairs(ads) do
    if work < RETURN_WORK then
      work = work + put_back(ad, clock)
    end
  end
  return #ads > 0
end
