-- ip/switch: make a new generation the current one, and remove the one before.
-- KEYS[1...] table   see keys.inc.lua
-- ARGV[1] generation  the new one
-- ARGV[2] former      generation with the key OLD_RANGES; '': there is no table
-- ARGV[3] chunks      of the new generation
-- ARGV[4] count       ranges in the chunks
-- ARGV[5] places      of the ranges
-- flags: allow-oom
-- returns 1: done; 0: part of the new generation is missing; a string: the current generation,
--   which is not `former`
-- include: shared/clock
-- include: shared/decimal
-- include: keys

local generation, former, chunks, count, places = unpack(ARGV)

local current = redis.call('HGET', TABLE, 'generation') or ''
if current == generation then -- a repeated request
  return 1
end
if redis.call('ZCARD', RANGES) ~= tonumber(chunks) then
  return 0
end
if current ~= former then
  return current
end
redis.call('HSET', TABLE, 'generation', generation, 'ranges', count, 'places', places,
  'imported', decimal.whole(clock.ms()))
redis.call('PERSIST', RANGES)
redis.call('UNLINK', OLD_RANGES)
return 1
