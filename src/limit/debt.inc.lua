-- Funnel and bucket: what is owed. See the essay of limit.c for the state and its units.

local MOST = 9007199254740992 -- 2^53: up to here whole numbers are exact

-- Writes down what is owed now. With nothing owed there is nothing to keep.
local function owe(key, head, count, debt, lent, tail)
  local ms = (debt + lent - 1) / (count * 1000) + 1 -- '%d' cuts it: the milliseconds, rounded up
  if tail ~= '' then
    ms = ms + 1000 -- until the last epoch with something lent out has ended
  elseif ms < 1 then
    return redis.call('DEL', key)
  end
  redis.call('SET', key, string.format('%s%d %d%s', head, now, debt, tail),
             'PX', string.format('%d', ms))
end

-- What is owed now, what is lent out (as debt), and the part of the state that tells of it.
local function owed(key, head, count)
  local state = redis.call('GET', key)
  if not state then
    return 0, 0, ''
  end
  local kind, unit, stamp, rest, epoch, before, latest =
      string.match(state, '^(%a)(%d+) (%d+) (%d+) ?(%d*) ?(%d*) ?(%d*)$')
  if kind ~= string.sub(head, 1, 1) then
    error({err = OTHER})
  end
  local period = tonumber(string.sub(head, 2))
  local debt, last = tonumber(rest), math.min(tonumber(stamp), now)
  if tonumber(unit) ~= period then -- the rule was changed: the same quantity in its unit
    debt = math.min(math.ceil(debt * period / unit), MOST)
  end
  local function pass(till)
    debt = math.max(0, debt - math.max(0, till - last) * count)
    last = till
  end

  -- What was lent out counts as spent when the epoch after its own ends.
  local lent, tail = 0, ''
  before, latest = tonumber(before) or 0, tonumber(latest) or 0
  while before + latest > 0 and (epoch + 1) * 500000 <= now do
    epoch = epoch + 1
    pass(epoch * 500000)
    debt = math.min(debt + before * period, MOST)
    before, latest = latest, 0
  end
  pass(now)
  if before + latest > 0 then
    lent = math.min((before + latest) * period, MOST)
    tail = string.format(' %d %d %d', epoch, before, latest)
  end
  if tonumber(stamp) > now then -- the clock was set back: go on from here
    owe(key, head, count, debt, lent, tail)
  end
  return debt, lent, tail
end
