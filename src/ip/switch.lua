-- ip/switch: make a new generation the current one, and remove the one before.
-- KEYS[1] table       hash
-- KEYS[2] ranges      of the new generation
-- KEYS[3] places      of the new generation
-- KEYS[4] old_ranges  of the current generation
-- KEYS[5] old_places  of the current generation
-- ARGV[1] generation  the new one
-- ARGV[2] former      whose keys the old ones are; '': there is no table
-- ARGV[3] chunks      that the new one has
-- ARGV[4] places      that it has
-- ARGV[5] ranges      that are in the chunks
-- returns 1: done; 0: part of the new generation is missing; a string: the current generation,
--   which is not the former

local generation, former, chunks, places, ranges = unpack(ARGV)
local current = redis.call('HGET', KEYS[1], 'generation') or ''
if current == generation then -- a repeated request
  return 1
end
if redis.call('ZCARD', KEYS[2]) ~= tonumber(chunks)
  or redis.call('HLEN', KEYS[3]) ~= tonumber(places) then
  return 0
end
if current ~= former then
  return current
end
local time = redis.call('TIME')
redis.call('HSET', KEYS[1], 'generation', generation, 'ranges', ranges, 'places', places,
  'imported', string.format('%d', time[1] * 1000 + math.floor(time[2] / 1000)))
redis.call('PERSIST', KEYS[2])
redis.call('PERSIST', KEYS[3])
redis.call('UNLINK', KEYS[4], KEYS[5])
return 1
