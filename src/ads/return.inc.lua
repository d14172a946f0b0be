-- Ads whose budget is spent are not in the index but in :due, by the time at which they come back.
-- include: index
-- include: money

local RETURNS = 100          -- in one step
local RETURN_MEMBERS = 600   -- ditto

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

-- Puts an ad back into the index, if its budget allows. Returns how many members that took.
local function put_back(ad, clock)
  local terms = read_terms(ad)
  local again = terms and closed_until(terms, spent_today(ad, clock), clock)
  if again then
    redis.call('ZADD', DUE, again, ad)
    return 0
  end
  local place = place_of(terms, terms and read_values(ad))
  move(ad, {}, place)
  redis.call('ZREM', DUE, ad)
  return size_of(place)
end

-- True: all that are due have come back.
local function bring_back(clock)
  if redis.call('ZCARD', DUE) == 0 then
    return true
  end
  local ads, members = due_ads(clock), 0
  for i, ad in ipairs(ads) do
    if members > RETURN_MEMBERS then
      return false
    end
    members = members + put_back(ad, clock)
  end
  return #ads < RETURNS
end
