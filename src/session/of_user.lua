-- session/of_user: the sessions of a user.
-- KEYS[1] sessions  hash, see session.c
-- KEYS[2] ends      zset
-- KEYS[3] users     zset
-- ARGV[1] user
-- ARGV[2] skip
-- ARGV[3] max
-- returns for each {id, user, created, last use, end}; those that have ended are left out
local SESSIONS, ENDS, USERS = KEYS[1], KEYS[2], KEYS[3]
local user, skip, max = unpack(ARGV)
-- include: session

local now_ms = to_ms(clock())
local prefix = user_prefix(user)
local members = redis.call('ZRANGE', USERS, '[' .. prefix, '[' .. prefix .. 'g', 'BYLEX',
                           'LIMIT', skip, max) -- ids are hex digits: all come before g
local answer = {}
for _, member in ipairs(members) do
  local id = string.sub(member, #prefix + 1)
  local session = find(id, now_ms)
  if session then
    answer[#answer + 1] =
        {id, session.user, session.created, session.ends - session.ttl, session.ends}
  end
end
return answer
