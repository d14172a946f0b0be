-- Something else under one of these keys is told before anything is changed: they must not fail later.

redis.call('HLEN', KEYS[1])
redis.call('ZCARD', KEYS[3])
redis.call('ZCARD', KEYS[4])
redis.call('HLEN', KEYS[6])
