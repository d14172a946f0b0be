-- chat/forget: remove a chat from the list of somebody who is not a member of it.
-- KEYS[1] list  zset; see chat/enlist
-- ARGV[1] chat
-- returns 1, or 0 when the entry is young: a member that is being added right now may need it
-- include: shared/clock

local list, chat = KEYS[1], ARGV[1]
local FORGET_AFTER = 3600000 -- milliseconds: an hour

local listed = redis.call('ZSCORE', list, chat)
if not listed or clock_ms() < listed + FORGET_AFTER then
  return 0
end
return redis.call('ZREM', list, chat)
