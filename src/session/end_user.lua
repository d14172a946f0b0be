-- session/end_user: forget sessions of a user, up to a number.
-- KEYS[1] sessions  hash, see session.c
-- KEYS[2] ends      zset
-- KEYS[3] users     zset
-- ARGV[1] user
-- ARGV[2] most
-- returns {how many had not ended, then the ids of all that were forgotten}
local SESSIONS, ENDS, USERS = KEYS[1], KEYS[2], KEYS[3]
local user, most = unpack(ARGV)
-- include: session

local now_ms = to_ms(clock())
local prefix = user_prefix(user)
local members = redis.call('ZRANGE', USERS, '[' .. prefix, '[' .. prefix .. 'g', 'BYLEX',
                           'LIMIT', '0', most)
local answer = {0}
for _, member in ipairs(members) do
  local id = string.sub(member, #prefix + 1)
  answer[1] = answer[1] + (find(id, now_ms) and 1 or 0)
  redis.call('ZREM', USERS, member)
  forget(id)
  answer[#answer + 1] = id
end
return answer
