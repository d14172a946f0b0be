-- chat/forget: remove a chat from the list of somebody who is not a member of it.
-- KEYS[1] list  zset; see chat/enlist
-- ARGV[1] chat
-- returns 1, or 0 when the entry is young: a member that is being added right now may need it

local list, chat = KEYS[1], ARGV[1]
local FORGET_AFTER = 3600000 -- milliseconds: an hour

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local listed = redis.call('ZSCORE', list, chat)
if not listed or now < listed + FORGET_AFTER then
  return 0
end
return redis.call('ZREM', list, chat)
