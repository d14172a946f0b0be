-- Tells those who wait that one must look at `soonest`, unless one of them has promised to look
-- before; see "Looking" in queue.c. The last to come are asked, since they will wait longest; their
-- ranks keep them apart.

local look, looker = tonumber(rules[7] or 0), rules[8]
if soonest and waiting > 0
   and (look <= now or look > soonest or not redis.call('ZSCORE', KEYS[7], looker)) then
  soonest = look > now and math.min(soonest, look) or soonest
  local told, rank = {}, 0
  for _, one in ipairs(redis.call('ZRANGE', KEYS[7], 0, 7, 'REV')) do
    local token, channel = string.match(one, '^(%S+) %S+ (.*)$')
    local word = string.format('%sL%d %d', token, math.max(soonest - now, 0), rank)
    local heard = told[channel] or redis.pcall('SPUBLISH', channel, word)
    if heard == 0 then
      redis.call('ZREM', KEYS[7], one)
    elseif not told[channel] and type(heard) == 'number' then
      if rank == 0 then
        redis.call('HSET', KEYS[1], 'look', string.format('%d', soonest), 'looker', one)
      end
      told[channel], rank = heard, rank + 1
    end
  end
end
