-- geo/count: how many places a search finds.
-- KEYS[1] places   sorted set with geohashes
-- ARGV[1...] query of GEOSEARCH
-- returns the number

return #redis.call('GEOSEARCH', KEYS[1], unpack(ARGV))
