-- ip/drop: remove a table.
-- KEYS[1] table       hash
-- KEYS[2] ranges      of the caller's generation
-- KEYS[3] places      of the same
-- ARGV[1] generation  that the caller takes for the current one
-- returns 1: removed; a string: the current generation, '' when there is no table

local generation = ARGV[1]
local current = redis.call('HGET', KEYS[1], 'generation') or ''
if current == '' or current ~= generation then
  return current
end
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
return 1
