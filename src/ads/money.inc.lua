-- Budgets: so much a day, spread over its hours, by the server's clock and in UTC. All amounts are
-- whole millionths.
-- include: shared/clock
-- include: record

local VIEWS_PAID = 1000 -- by the price of a cpm ad
local HOUR, DAY, HOURS = 3600000, 86400000, 24

local function read_clock()
  local ms = clock_ms()
  return {ms = ms, day = math.floor(ms / DAY), hour = math.floor(ms % DAY / HOUR)}
end

-- What a view, a click or an action costs, whichever is paid for.
local function cost_of(terms)
  return terms.type == 'cpm' and terms.price / VIEWS_PAID or terms.price
end

-- What may be spent until the end of an hour of the day.
local function allowance(budget, hour)
  return budget * (hour + 1) / HOURS
end

-- When the ad may be shown again; nil: it may be shown now.
local function closed_until(terms, spent, clock)
  if terms.budget == 0 then
    return nil
  end
  if spent + cost_of(terms) <= terms.budget then
    for hour = clock.hour, HOURS - 1 do
      if spent < allowance(terms.budget, hour) then
        return hour > clock.hour and clock.day * DAY + hour * HOUR or nil
      end
    end
  end
  return (clock.day + 1) * DAY
end

-- A clock that was set back keeps the day, unless it had been far ahead.
local function spent_today(ad, clock)
  local stored = redis.call('HMGET', COUNTS, 'day:' .. ad, 'today:' .. ad)
  local day = counted(stored[1])
  if day < clock.day or day > clock.day + 1 then
    return 0, clock.day
  end
  return counted(stored[2]), day
end

-- Charges an ad, but never beyond the budget of a day. Returns what was charged and what is spent.
local function charge(ad, terms, cost, clock)
  if terms.budget == 0 then
    if cost > 0 then
      increase(COUNTS, 'spent:' .. ad, cost)
    end
    return cost, 0
  end
  local spent, day = spent_today(ad, clock)
  cost = math.max(0, math.min(cost, terms.budget - spent))
  increase(COUNTS, 'spent:' .. ad, cost)
  redis.call('HSET', COUNTS, 'day:' .. ad, string.format('%.0f', day),
    'today:' .. ad, string.format('%.0f', spent + cost))
  return cost, spent + cost
end
