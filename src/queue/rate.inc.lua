-- What the limits allow to each group: `most` at once, and the rate.

local rule = redis.call('HMGET', KEYS[1], 'group_concurrency', 'group_rate', 'group_rate_period')
local most, period = tonumber(rule[1]), tonumber(rule[3])
local step_of_group = period and period / rule[2]

-- A funnel, as for the queue in gate.inc.lua. When it is full, a timer brings back the next.
local function within_rate(group)
  local full = math.max(tonumber(redis.call('ZSCORE', RATES, group) or 0), now) + step_of_group
  if full - period > now then
    redis.call('ZADD', DELAYED, string.format('%.0f', math.ceil(full - period)), '=' .. group)
    return false
  end
  local over = redis.call('ZRANGE', RATES, '-inf', stamp, 'BYSCORE', 'LIMIT', 0, 5)
  if over[1] then
    redis.call('ZREM', RATES, unpack(over))
  end
  redis.call('ZADD', RATES, string.format('%.3f', full), group)
  redis.call('PEXPIRE', RATES, string.format('%.0f', period)) -- no funnel is full for longer
  unpark(group)
  return true
end
