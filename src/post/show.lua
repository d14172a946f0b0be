-- post/show: the kept messages, their readers, and the limits.
-- KEYS[1...] post    see keys.inc.lua
-- flags: no-writes
-- returns {code, first kept message that is not too old, last, bytes, time of the first or 0, fields
--   of the state, readers with their positions (none when there are many), number of own messages
--   behind the position of each reader}: TKL_NOTFOUND there is nothing
-- include: shared/clock
-- include: keys
-- include: messages
-- include: ages
-- include: own
-- include: readers

now = clock.ms()
local FEW = 100 -- with more, the client reads the readers by a plain command

local mailbag, fields = messages.read(), redis.call('HGETALL', STATE)
if #fields == 0 then
  return {TKL_NOTFOUND}
end
local oldest, start = 0, nil
local first = math.max(ages.first_young(mailbag), readers.first_kept(mailbag))
if first <= mailbag.last then
  oldest, start = messages.mark_of(mailbag, first)
end
local few = redis.call('ZCARD', READERS) <= FEW
local all = few and redis.call('ZRANGE', READERS, 0, -1, 'WITHSCORES') or {}
local owned = {}
for i = 1, #all, 2 do
  owned[#owned + 1] = own.count(all[i], math.max(first, all[i + 1] + 1), mailbag.last)
end
return {TKL_OK, first, mailbag.last, mailbag.sent - (start or mailbag.sent), oldest, fields, all,
        owned}
