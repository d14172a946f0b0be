-- A foreign key that would keep a job from being handed over is met before anything is written.

redis.call('ZCARD', KEYS[5])
redis.call('HLEN', KEYS[2])
redis.call('HLEN', KEYS[6])
