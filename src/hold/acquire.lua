-- hold/acquire: take the name for a lease; when that is not possible, stand in line if asked to.
-- KEYS[1] state     hash, see hold.c
-- KEYS[2...] sharers  zset: tokens by the end of their lease; and the line, a list of waiters. Not
--   given while a cluster moves the slot: then only the common cases of a lock are possible
-- ARGV[1] everyone  channel of all waiters of the name
-- ARGV[2] token     of this acquisition
-- ARGV[3] mode      x: exclusive, s: shared
-- ARGV[4] lease     microseconds
-- ARGV[5] limit     of sharers; '' for none
-- ARGV[6] who       holder, one word: "host/pid/label"
-- ARGV[7] client    id of the waiter's client
-- ARGV[8] channel   where the waiter listens; '' to try only
-- ARGV[9] again     'again': this token may have a place in the line already
-- returns {TKL_OK, fence, lease, now, 0} when it holds; else {TKL_BUSY, 0, microseconds until a lease
-- ends, now, 1 when this waiter is the looker}
local STATE, SHARERS, LINE = KEYS[1], KEYS[2], KEYS[3]
local everyone, token, mode, lease, limit, who, client, channel, again = unpack(ARGV)
-- include: basics

local fields = read_fields()
local fence, known_limit, writer, sharing, waiting = unpack(fields)
-- The last fence, if there is no writer and no waiter.
local last = not writer and waiting ~= '1' and whole(fence)

-- The common case of a lock: it was used before, and nobody holds it or waits for it.
if last and mode == EXCLUSIVE and sharing ~= '1' then
  local now = clock_us()
  local mine = fence_after(last, now)
  redis.call('HSET', STATE, 'fence', digits(mine),
             'writer', writer_text(token, now + lease, mine, now, CONFIRMED, who))
  redis.call('PEXPIRE', STATE, stay_ms(lease))
  return {TKL_OK, mine, tonumber(lease), now, 0}
end

-- The common case of a semaphore: permits are free, and nobody waits.
local permits = LINE and last and limit ~= '' and limit == known_limit and redis.call('ZCARD', SHARERS)
if permits and permits < tonumber(limit) then
  local now = clock_us()
  local mine, stay = fence_after(last, now), stay_ms(lease)
  redis.call('HSET', STATE, 'fence', digits(mine), 'sharing', '1',
             token, sharer_text(mine, now, CONFIRMED, who))
  redis.call('ZADD', SHARERS, digits(now + lease), token)
  redis.call('PEXPIRE', STATE, stay, 'GT') -- others may hold for longer
  redis.call('PEXPIRE', SHARERS, stay, permits > 0 and 'GT' or 'NX')
  return {TKL_OK, mine, tonumber(lease), now, 0}
end

if not LINE then
  return redis.error_reply('TRYAGAIN the slot of this name is moving')
end

-- include: line

-- A reader behind a waiting writer looks so often whether that writer is alive, in microseconds.
local WRITER_CHECK = 2000000

-- To the end of the line, unless it has a place there. The looker is the first who would see the
-- end of the lease.
local function stand(state, me, till)
  if again == '' or not redis.call('LPOS', LINE, me.text) then
    state.waiters = redis.call('RPUSH', LINE, me.text)
  end
  redis.call('PEXPIRE', LINE, LINE_MS)
  local looker = state.looker
  local looks = not looker or looker.at < state.now or looker.at > till or looker.token == token
  if looks then
    set_looker(state, me, till)
  end
  return looks
end

local state = read_state(fields)
if limit ~= '' and whole(limit) ~= state.limit then
  state.limit = whole(limit)
  redis.call('HSET', STATE, 'limit', limit)
end
drop_ended(state)
hand_over(state)
local mine, held_mode = find(state, token)
if mine then -- since an earlier request, or handed over a moment ago
  confirm(mine, state.now + lease)
  put(state, mine, held_mode)
elseif state.waiters == 0 and fits(state, mode) then
  mine = admit(state, token, mode, lease, CONFIRMED, who)
end
if mine then
  settle(state)
  recall(state, everyone)
  return {TKL_OK, mine.fence, tonumber(lease), state.now, 0}
end

local till, looks = first_end(state), false
if mode == SHARED and not state.limit and not state.writer then
  till = math.min(till, state.now + WRITER_CHECK)
end
if channel ~= '' and not state.failure then
  local text = place(token, mode, lease, client, who, channel)
  looks = stand(state, {text = text, token = token, client = client, who = who}, till)
end
settle(state)
recall(state, everyone)
return state.failure or {TKL_BUSY, 0, till - state.now, state.now, looks and 1 or 0}
