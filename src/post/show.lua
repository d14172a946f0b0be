-- post/show: how many messages are kept, for whom, and within which limits.
-- KEYS[1...] post    see keys.inc.lua
-- flags: no-writes
-- returns {code, first kept that is not too old, last, bytes, time of the first or 0, fields of the
--   state, readers with their positions or none of them when there are many}: TKL_NOTFOUND there is
--   nothing
-- include: shared/clock
-- include: keys
-- include: messages
-- include: ages

now = clock.ms()
local FEW = 100 -- with more, the client reads the readers by a plain command

local line, fields = messages.read(), redis.call('HGETALL', STATE)
if #fields == 0 then
  return {TKL_NOTFOUND}
end
local oldest, start = 0, nil
local first = ages.first_young(line)
if first <= line.last then
  oldest, start = messages.mark_of(line, first)
end
local few = redis.call('ZCARD', READERS) <= FEW
local readers = few and redis.call('ZRANGE', READERS, 0, -1, 'WITHSCORES') or {}
return {TKL_OK, first, line.last, line.sent - (start or line.sent), oldest, fields, readers}
