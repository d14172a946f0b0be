-- ip/drop: remove a table.
-- KEYS[1...] table   see keys.inc.lua
-- ARGV[1] generation  the current one, as far as the caller knows
-- flags: allow-oom
-- returns 1: removed; a string: the current generation, '' when there is no table
-- include: keys

local generation = ARGV[1]

local current = redis.call('HGET', TABLE, 'generation') or ''
if current == '' or current ~= generation then
  return current
end
redis.call('UNLINK', TABLE, RANGES)
return 1
