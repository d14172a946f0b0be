-- How many may be claimed now: `room`; when the rate allows the next: `opens`.

local gate = redis.call('HMGET', KEYS[1], 'paused', 'concurrency', 'rate', 'rate_period', 'full_at',
                        'big', 'look', 'looker')
local room, taken, step, full_at, opens = 1000, 0, nil, nil, nil
if gate[1] then
  room = 0
elseif gate[2] then
  room = gate[2] - redis.call('ZCARD', KEYS[5])
end
if gate[3] and room > 0 then
  -- As a funnel: each claim fills it by a step, and it holds a period's worth.
  step, full_at = gate[4] / gate[3], math.max(tonumber(gate[5] or 0), now)
  local fits = math.floor((now + gate[4] - full_at) / step)
  if fits < room then
    room, opens = fits, fits < 1 and math.ceil(full_at + step - gate[4]) or nil
  end
end
