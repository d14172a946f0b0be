-- The record, of which `record` is the text: read here, written by save(); in between, these are the
-- truth. See the essay of hold.c for its forms.

local NO_FENCE = '0000000000000000'

local fence, limit, x = NO_FENCE, '-', nil
local alive = 0                           -- when record, holders and cards expire; milliseconds
local arrivals, look, looker = 1, 0, '-'  -- without a record somebody may wait
local sharing                             -- how many share; nil: not counted yet
local moved                               -- `alive` has changed

if record then
  fence = string.sub(record, 1, 16)
  limit = string.match(record, '^%d+ (%S+)$')
  if limit then
    arrivals = 0
  elseif string.sub(record, 17, 17) == '*' then
    limit, alive, arrivals, look, looker, x =
      string.match(record, '^%d+%*(%S+) (%d+) (%d+) (%d+) (%S+) (.*)$')
    alive, arrivals, look = tonumber(alive), tonumber(arrivals), tonumber(look)
    x = x ~= '' and x or nil
  else
    local token, mode, lease, who
    token, limit, mode, lease, who = string.match(record, '^%d+ (%x+) (%S+) (%a) (%d+) (%S+)$')
    alive, arrivals = redis.call('PEXPIRETIME', KEYS[1]), 0
    local till = (alive - LINGER) * 1000
    x = limit and table.concat({moment(till), token, mode, fence, moment(till - lease), who}, ' ')
  end
  if not limit then
    return redis.error_reply('WRONGTYPE the record is not one of tackle')
  end
  sharing = x and 0
end

local function sharers()
  if x then
    return string.sub(x, 51, 51) == 's' and 1 or 0
  end
  sharing = sharing or redis.call('ZCARD', KEYS[2])
  return sharing
end

-- The keys outlive the moment by so much, and somewhat more, lest they are told each time.
local function live(ms)
  if alive < now_ms + ms then
    alive, moved = now_ms + ms + LINGER, true
  end
end

-- Every script that changes something ends with it.
local function save()
  if arrivals == 0 and not x and sharers() == 0 then
    local free = fence .. ' ' .. limit
    if free ~= record and fence ~= NO_FENCE then
      redis.call('SET', KEYS[1], free, 'PX', LINGER)
    end
    return
  end
  live(0)
  local full = string.format('%s*%s %d %d %d %s %s', fence, limit, alive, arrivals, look, looker,
                             x or '')
  if full ~= record then
    redis.call('SET', KEYS[1], full, 'PXAT', string.format('%d', alive))
  end
  if moved and not x and sharers() > 0 then
    redis.call('PEXPIREAT', KEYS[2], string.format('%d', alive))
    redis.call('PEXPIREAT', KEYS[4], string.format('%d', alive))
  end
end
