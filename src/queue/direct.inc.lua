-- The common case of an idle queue: nothing is ready, nothing holds claims back, and somebody waits.
-- The job goes straight to the first of them, which is what serve.inc.lua would come to, sooner.

redis.call('HSET', KEYS[2], unpack(jobs)) -- first: a full server refuses it
local first, place = unpack(redis.call('ZPOPMIN', KEYS[7]))
local gap = string.find(first, ' ', 18, true)
local token, lease, channel = string.sub(first, 1, 16), string.sub(first, 18, gap - 1),
                              string.sub(first, gap + 1)
redis.call('ZADD', KEYS[5], string.format('%d', now + lease), jobs[1] .. token)
local heard = redis.pcall('SPUBLISH', channel, token .. 'J' .. jobs[1] .. stamp .. ' 0 ' .. jobs[2])
handed = type(heard) == 'number' and heard > 0
if handed then
  soonest, waiting = now + lease, waiting - 1
else
  redis.call('ZREM', KEYS[5], jobs[1] .. token)
end
if type(heard) == 'table' then -- not permitted, as will be told
  redis.call('ZADD', KEYS[7], place, first)
end
