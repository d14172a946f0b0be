-- post/show: how many messages are kept, for whom, and within which limits.
-- KEYS[1...] post    see keys.inc.lua
-- returns {code, first kept that is not too old, last, bytes, time of the first or 0, fields of the
--   state, readers with their positions or none of them when there are many}: TKL_NOTFOUND there is
--   nothing
-- include: shared/clock
local now = clock_ms()
-- include: keys
-- include: shared/codes
-- include: line
-- include: age

local FEW = 100 -- more readers are asked for without a script

local line, fields = read_line(), redis.call('HGETALL', STATE)
if #fields == 0 then
  return {TKL_NOTFOUND}
end
local oldest, start = 0, nil
local first = first_young(line)
if first <= line.last then
  oldest, start = mark_of(line, first)
end
local few = redis.call('ZCARD', READERS) <= FEW
local readers = few and redis.call('ZRANGE', READERS, 0, -1, 'WITHSCORES') or {}
return {TKL_OK, first, line.last, line.sent - (start or line.sent), oldest, fields, readers}
