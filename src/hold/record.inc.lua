-- The record, of which `record` is the text: see the essay of hold.c for its forms. Until save()
-- these are the truth. Numbers stay texts: most are written as they were read.

local NONE = '0000000000000000'

local fence, alive, limit, x = NONE, '0', '-', nil
local arrivals, look, looker = '0000000000000001', NONE, '-' -- without a record somebody may wait
local sharing                                                -- how many share; nil: not counted yet
local moved                                                  -- `alive` has changed

if record and string.sub(record, 17, 17) == '*' then
  local first = string.find(record, ' ', 66, true)
  local second = string.find(record, ' ', first + 1, true)
  fence, alive = string.sub(record, 1, 16), string.sub(record, 18, 30)
  arrivals, look = string.sub(record, 32, 47), string.sub(record, 49, 64)
  limit, looker = string.sub(record, 66, first - 1), string.sub(record, first + 1, second - 1)
  x = #record > second and string.sub(record, second + 1) or nil
elseif record then
  local token, mode, lease, who
  arrivals, limit = NONE, string.match(record, '^%d+ (%S+)$')
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
