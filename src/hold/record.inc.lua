-- The record, of which `record` is the text: see the essay of hold.c for its forms. Until save()
-- these are the truth. Numbers stay texts: most are written as they were read.

local NONE = '0000000000000000'

local fence, alive, limit, x = NONE, '0', '-', nil
local waits, look, looker = 'm', NONE, '-' -- without a record somebody may wait
local kept = '0000000000'
local sharing                              -- how many share; nil: not counted yet
local moved                                -- `alive` has changed

local form = record and string.sub(record, 17, 17)
if form == '*' then
  local gap = string.sub(record, 18, 18) == '-' and 19 or string.find(record, ' ', 104, true)
  local last = gap and string.find(record, ' ', gap + 41, true)
  if not last then
    return redis.error_reply('WRONGTYPE the record is not one of tackle')
  end
  fence, x = string.sub(record, 1, 16), gap > 19 and string.sub(record, 18, gap - 1) or nil
  waits, look = string.sub(record, gap + 1, gap + 1), string.sub(record, gap + 2, gap + 17)
  alive, kept = string.sub(record, gap + 18, gap + 30), string.sub(record, gap + 31, gap + 40)
  looker, limit = string.sub(record, gap + 41, last - 1), string.sub(record, last + 1)
  -- Those who hand over in a hurry do not tell it: see hurry.inc.lua.
  if x and tonumber(alive) < now_ms + LINGER + 1000 then
    alive = string.format('%013d', now_ms + 2 * LINGER)
  end
elseif record then
  local token, mode, lease, who
  waits, limit = '-', string.match(record, '^%d+ (%S+)$')
  if not limit then
    token, limit, mode, lease, who = string.match(record, '^%d+ (%x+) (%S+) (%a) (%d+) (%S+)$')
  end
  if not limit then
    return redis.error_reply('WRONGTYPE the record is not one of tackle')
  end
  fence = string.sub(record, 1, 16)
  if token then
    local ends = redis.call('PEXPIRETIME', KEYS[1])
    local till = (ends - LINGER) * 1000
    alive = string.format('%013d', ends)
    x = table.concat({moment(till), token, mode, fence, moment(till - lease), who}, ' ')
  end
end
if x then
  sharing = 0
end
