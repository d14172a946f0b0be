-- Budgets: an amount for each day, spread over its hours, by the server's clock and in UTC. All
-- amounts are whole millionths.
-- include: shared/clock
-- include: records

local money = {}

local VIEWS_PAID = 1000 -- views that the price of a cpm ad pays for
local HOUR, DAY, HOURS = 3600000, 86400000, 24

-- The time in milliseconds, the day, and the hour of the day.
function money.read_calendar()
  local ms = clock.ms()
  return {ms = ms, day = math.floor(ms / DAY), hour = math.floor(ms % DAY / HOUR)}
end

-- The cost of the event that the ad is paid for: a view, a click or an action.
function money.cost_of(terms)
  return terms.type == 'cpm' and terms.price / VIEWS_PAID or terms.price
end

-- The amount that may be spent until the end of an hour of the day.
function money.allowance(budget, hour)
  return budget * (hour + 1) / HOURS
end

-- The time at which the ad may be shown again; nil: it may be shown now.
function money.closed_until(terms, spent, calendar)
  if terms.budget == 0 then
    return nil
  end
  if spent + money.cost_of(terms) <= terms.budget then
    for hour = calendar.hour, HOURS - 1 do
      if spent < money.allowance(terms.budget, hour) then
        return hour > calendar.hour and calendar.day * DAY + hour * HOUR or nil
      end
    end
  end
  return (calendar.day + 1) * DAY
end

-- The amount spent today, and the day. When the clock is set back, the day stays, unless the clock
-- was far ahead before.
function money.spent_today(ad, calendar)
  local stored = redis.call('HMGET', COUNTS, 'day:' .. ad, 'today:' .. ad)
  local day = records.counted(stored[1])
  if day < calendar.day or day > calendar.day + 1 then
    return 0, calendar.day
  end
  return records.counted(stored[2]), day
end

-- Charges an ad, but never more than the budget of a day. Returns the amount charged and the amount
-- spent.
function money.charge(ad, terms, cost, calendar)
  if terms.budget == 0 then
    if cost > 0 then
      records.increase(COUNTS, 'spent:' .. ad, cost)
    end
    return cost, 0
  end
  local spent, day = money.spent_today(ad, calendar)
  cost = math.max(0, math.min(cost, terms.budget - spent))
  records.increase(COUNTS, 'spent:' .. ad, cost)
  redis.call('HSET', COUNTS, 'day:' .. ad, decimal.whole(day),
    'today:' .. ad, string.format('%.0f', spent + cost))
  return cost, spent + cost
end
