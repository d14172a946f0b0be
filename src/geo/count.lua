-- geo/count: count the places that a search finds.
-- KEYS[1] places   sorted set with geohashes
-- ARGV[1...] query of GEOSEARCH
-- flags: no-writes
-- returns the number

local PLACES = KEYS[1]

return #redis.call('GEOSEARCH', PLACES, unpack(ARGV))
