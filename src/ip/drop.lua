-- ip/drop: remove a table.
-- KEYS[1] table       hash
-- KEYS[2] ranges      of the caller's generation
-- ARGV[1] generation  that the caller takes for the current one
-- returns 1: removed; a string: the current generation, '' when there is no table

local TABLE, RANGES = KEYS[1], KEYS[2]
local generation = ARGV[1]
local current = redis.call('HGET', TABLE, 'generation') or ''
if current == '' or current ~= generation then
  return current
end
redis.call('UNLINK', TABLE, RANGES)
return 1
