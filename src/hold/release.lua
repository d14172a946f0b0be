-- hold/release: give it back, and hand it to the next waiter.
-- KEYS[1] state     see hold/acquire
-- KEYS[2...] sharers, line  not given while a cluster moves the slot, see hold/acquire
-- ARGV[1] everyone  channel of all waiters of the name
-- ARGV[2] token
-- returns {TKL_OK}; {TKL_NOTOWNER} when it is not held any more
local STATE, SHARERS, LINE = KEYS[1], KEYS[2], KEYS[3]
local everyone, token = unpack(ARGV)
-- include: basics

-- The common case: a lock that nobody waits for. Whether the lease had ended the owner knows by its
-- own clock; nobody else had it meanwhile.
local fields = read_fields()
local _, _, writer, _, waiting = unpack(fields)
if writer and waiting ~= '1' and string.match(writer, '^%S+') == token then
  redis.call('HDEL', STATE, 'writer')
  redis.call('PEXPIRE', STATE, LINGER_MS)
  return {TKL_OK}
end

if not LINE then
  return redis.error_reply('TRYAGAIN the slot of this name is moving')
end

-- include: line

local state = read_state(fields)
if not drop(state, token) then
  recall(state, everyone)
  return {TKL_NOTOWNER}
end
if state.waiters > 0 then
  drop_ended(state)
  hand_over(state)
end
settle(state)
recall(state, everyone)
return state.failure or {TKL_OK}
