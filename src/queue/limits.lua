-- queue/limits: the limits that are set.
-- KEYS[1] meta
-- ARGV[1...] names
-- returns the value of each; nil: none
return redis.call('HMGET', KEYS[1], unpack(ARGV))
