-- The common case of an idle queue: nothing is ready, nothing holds claims back, and somebody waits.
-- The job goes straight to the first of them, which is what serve.inc.lua would come to, sooner.

local first = call('ZRANGE', KEYS[7], 0, 0)[1] -- cheaper than ZPOPMIN, which tells the score
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
if handed then
  soonest, waiting = till, waiting - 1
else
  call('ZREM', KEYS[5], id .. token)
end
if type(heard) == 'table' then -- not permitted: the job is in, and found when somebody looks
  call('ZADD', KEYS[7], 0, first) -- it stays the first
end
