-- hold/renew: make the lease last from now; a writer may become a reader.
-- KEYS[1] state      see hold/acquire
-- KEYS[2...] sharers, line  not given for a writer that the keeper renews, nor while a cluster
--   moves the slot
-- ARGV[1] everyone   channel of all waiters of the name
-- ARGV[2] token
-- ARGV[3] lease      microseconds
-- ARGV[4] downgrade  '1': a writer becomes a reader; '' changes nothing
-- returns {TKL_OK, fence, lease, now}; {TKL_NOTOWNER} when it is not held any more
local STATE, SHARERS, LINE = KEYS[1], KEYS[2], KEYS[3]
local everyone, token, lease, downgrade = unpack(ARGV)
-- include: line

local fields = read_fields()
local fence, _, writer_now = unpack(fields)

-- By the state alone: the lease of a writer, which only grows this way.
local function grow()
  local now, writer = clock_us(), read_writer(writer_now or '')
  if not writer or writer.token ~= token or writer.till <= now then
    recall({forgot = not fence}, everyone)
    return {TKL_NOTOWNER}
  end
  confirm(writer, math.max(writer.till, now + lease))
  redis.call('PEXPIRE', STATE, stay_ms(writer.till - now))
  redis.call('HSET', STATE, 'writer',
             writer_text(token, writer.till, writer.fence, writer.since, writer.standing,
                         writer.who))
  return {TKL_OK, writer.fence, writer.till - now, now}
end

if not LINE then
  return downgrade == '' and grow()
         or redis.error_reply('TRYAGAIN the slot of this name is moving')
end

local state = read_state(fields)
local mine, mode = find(state, token)
if not mine or mine.till <= state.now then
  recall(state, everyone)
  return {TKL_NOTOWNER}
end
-- This needs no memory, and after it a full server accepts the other writes.
redis.call('PEXPIRE', STATE, stay_ms(lease))
local before = mine.till
confirm(mine, state.now + lease)
if downgrade == '1' and mode == EXCLUSIVE then
  drop(state, token)
  mode = SHARED
end
put(state, mine, mode)
if downgrade == '1' then
  hand_over(state)
end
if mine.till < before then
  appoint(state, mine.till)
end
settle(state)
return {TKL_OK, mine.fence, tonumber(lease), state.now}
