-- chat/unlist: remove a chat from a list, unless it was put there again.
-- KEYS[1] list    zset; see chat/enlist
-- ARGV[1] chat
-- ARGV[2] listed  the time at which it was there
-- flags: allow-oom
-- returns 1, or 0 when it stays

local list, chat, listed = KEYS[1], ARGV[1], ARGV[2]

if tonumber(redis.call('ZSCORE', list, chat) or nil) ~= tonumber(listed) then
  return 0
end
return redis.call('ZREM', list, chat)
