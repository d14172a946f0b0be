-- session/end_user: forget at most some sessions of a user.
-- KEYS[1...] store  see keys.inc.lua
-- ARGV[1] user
-- ARGV[2] most
-- flags: allow-oom
-- returns {how many were forgotten, then the ids of the sessions that had not ended}
-- include: keys
-- include: sessions

local user, most = ARGV[1], tonumber(ARGV[2])

local members, ids = sessions.of_user(user, 0, most)
local answer = {#ids}
for i, session in ipairs(sessions.find_all(ids, clock.ms())) do
  if session then
    answer[#answer + 1] = ids[i]
  end
end
if ids[1] then
  sessions.forget(ids)
  redis.call('ZREM', USERS, unpack(members))
end
return answer
