-- When nobody waits: the keys stay for the longest lease, and the record for the fence.

local last = redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')[2]
keep, anew = math.ceil(math.max(tonumber(last or 0) - now, 0) / 1000) + LINGER, true
redis.call('PEXPIRE', KEYS[2], text(keep))
