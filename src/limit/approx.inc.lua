-- Approximate window: two counters. See the essay of limit.c.

-- Writes down the counts of this stretch and the one before.
local function note(key, head, current, previous)
  local period = tonumber(string.sub(head, 2))
  local left = period - now % period + (current > 0 and period or 0)
  if current + previous == 0 then
    return redis.call('DEL', key)
  end
  redis.call('SET', key,
             string.format('%s%d %d %d', head, math.floor(now / period), current, previous),
             'PX', string.format('%d', math.ceil(left / 1000)))
end

-- The counts of this stretch and the one before.
local function counted(key, head)
  local state = redis.call('GET', key)
  if not state then
    return 0, 0
  end
  local kind, own, index, current, previous =
      string.match(state, '^(%a)(%d+) (%d+) (%d+) (%d+)$')
  if kind ~= string.sub(head, 1, 1) then
    error({err = OTHER})
  end
  local passed = math.floor(now / own) - index
  current, previous = tonumber(current), tonumber(previous)
  if passed == 1 then
    current, previous = 0, current
  elseif passed > 1 then
    current, previous = 0, 0
  end
  if own + 0 ~= tonumber(string.sub(head, 2)) then -- another period: what it came to counts as ours
    current, previous = current + math.ceil(previous * (own - now % own) / own), 0
  elseif passed < 0 then -- the clock was set back: go on from here
    note(key, head, current, previous)
  end
  return current, previous
end
