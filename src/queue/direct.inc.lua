-- The common case of an idle queue: nothing is ready, nothing holds claims back, and somebody waits.
-- The job goes straight to the first of them, which is what serve.inc.lua would come to, sooner.

local gap = string.find(first, ' ', 18, true)
local token, lease = string.sub(first, 1, 16), string.sub(first, 18, gap - 1)
local till = now + lease
local till_text = format('%d', till)
call('ZADD', KEYS[5], till_text, id .. token) -- first: a full server refuses it
local stored = redis.pcall('HSET', KEYS[2], id, record)
if type(stored) == 'table' then -- a foreign key
  call('ZREM', KEYS[5], id .. token)
  return stored
end
call('ZREM', KEYS[7], first)
local heard = redis.pcall('SPUBLISH', string.sub(first, gap + 1),
                          token .. 'J' .. id .. till_text .. ' 0 ' .. record)
handed = type(heard) == 'number' and heard > 0
soonest = handed and till or nil
if not handed then
  call('ZREM', KEYS[5], id .. token)
end
if type(heard) == 'table' then -- not permitted: the job is in, and found when somebody looks
  call('ZADD', KEYS[7], 0, first) -- it stays the first
end
-- The others need not be asked when one of them has promised to look in time.
local look = tonumber(meta[5] or 0)
if not handed or look <= now or look > till or not call('ZSCORE', KEYS[7], meta[6]) then
  waiting = call('ZCARD', KEYS[7])
end
