-- session/of_user: the sessions of a user. Sessions that have ended are forgotten.
-- KEYS[1...] store  see keys.inc.lua
-- ARGV[1] user
-- ARGV[2] skip
-- ARGV[3] max
-- flags: allow-oom
-- returns {1 when there may be more, then for each session {id, created, last use, end}}
-- include: keys
-- include: sessions

local user, skip, max = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local members, ids = sessions.of_user(user, skip, max)
local answer, ended, members_of_ended = {#ids == max and 1 or 0}, {}, {}
for i, session in ipairs(sessions.find_all(ids, clock.ms())) do
  if session then
    answer[#answer + 1] = {ids[i], session.created, session.ends - session.ttl, session.ends}
  else
    ended[#ended + 1] = ids[i]
    members_of_ended[#ended] = members[i]
  end
end
if ended[1] then
  sessions.forget(ended)
  redis.call('ZREM', USERS, unpack(members_of_ended))
end
return answer
