-- How many may be claimed now: `room`; when the rate allows the next: `opens`; how many wait.

local rules = redis.call('HMGET', KEYS[1], 'paused', 'concurrency', 'rate', 'rate_period', 'full_at',
                         'big', 'look', 'looker')
local waiting = redis.call('ZCARD', KEYS[7])
local room, taken, step, full_at, opens = 1000, 0, nil, nil, nil
if rules[1] then
  room = 0
elseif rules[2] then
  room = rules[2] - redis.call('ZCARD', KEYS[5])
end
if rules[3] and room > 0 then
  -- As a funnel: each claim fills it by a step, and it holds a period's worth.
  step, full_at = rules[4] / rules[3], math.max(tonumber(rules[5] or 0), now)
  local fits = math.floor((now + rules[4] - full_at) / step)
  if fits < room then
    room, opens = fits, fits < 1 and math.ceil(full_at + step - rules[4]) or nil
  end
end
