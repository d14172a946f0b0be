-- The record, read once. From here on these are the truth, until save() writes what has changed.

local FIELDS = {'x', 'fence', 'limit', 'arrivals', 'looker', 'look'}
local was = redis.call('HMGET', KEYS[1], unpack(FIELDS))
local x, fence, limit, arrivals, looker, look = unpack(was)
