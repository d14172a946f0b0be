-- hold/acquire: take the name for a lease; when that is not possible, stand in line if asked to.
-- KEYS[1] state     hash, see hold.c
-- KEYS[2] sharers   zset: tokens by the end of their lease
-- KEYS[3] line      list of waiters. While a cluster moves the slot, a call names the state in the
--   place of keys that do not exist: then nobody shares, or gets a place in the line
-- ARGV[1] everyone  channel of all waiters of the name
-- ARGV[2] token     of this acquisition
-- ARGV[3] mode      x: exclusive, s: shared
-- ARGV[4] lease     microseconds
-- ARGV[5] limit     of sharers; '' for none
-- ARGV[6] who       holder, one word: "host/pid/label"
-- ARGV[7] client    id of the waiter's client
-- ARGV[8] channel   where the waiter listens; '' to try only
-- ARGV[9] again     'again': this token may have a place in the line already
-- ARGV[10] news     channel where changes of the holder are published; '' for none
-- returns {TKL_OK, fence, lease, now, 0} when it holds; else {TKL_BUSY, 0, microseconds until a
--   lease ends, now, TKL__HOLD_LOOKER when this waiter is the looker, TKL__HOLD_PLACELESS when it
--   could not get a place in the line}
-- include: line

-- How often a reader behind a waiting writer checks whether that writer is alive, in microseconds.
local WRITER_CHECK = 2000000
local everyone, token, mode, lease, limit, who, client, channel, again, news = unpack(ARGV)

-- Puts the waiter at the end of the line, unless it has a place there. Returns whether it is the
-- looker: the first waiter that would see the end of the lease.
local function stand(state, me, till)
  if again == '' or not redis.call('LPOS', LINE, me.text) then
    state.waiters = redis.call('RPUSH', LINE, me.text)
  end
  redis.call('PEXPIRE', LINE, LINE_MS)
  local looker = state.looker
  local looks = not looker or looker.at < state.now or looker.at > till or looker.token == token
  if looks then
    line.write_looker(state, me, till)
  end
  return looks
end

-- The answer when the call lacks a key: STATE may show a live writer or waiters, which come first.
local function answer_by_state(state)
  local writer = hold.is_live(state, state.writer) and state.writer
  if not (writer or state.waiting) or hold.is_noted(state, token) then
    return hold.moving()
  end
  return {TKL_BUSY, 0, (writer and writer.till or state.now) - state.now, state.now,
          channel ~= '' and TKL__HOLD_PLACELESS or 0}
end

local state = hold.read()
if hold.lacks_keys(state) or mode == SHARED and not hold.given(SHARERS) then
  return answer_by_state(state)
end
if limit ~= '' and decimal.read(limit) ~= state.limit then
  state.limit = decimal.read(limit)
  redis.call('HSET', STATE, 'limit', limit)
end
if news ~= '' and not state.news then
  state.news = news
  redis.call('HSET', STATE, 'news', news)
end
hold.remove_ended(state)
line.hand_over(state)
local mine, held_mode = hold.find(state, token)
if mine then -- held since an earlier request, or handed over a moment ago
  hold.confirm(mine, state.now + lease)
  hold.write(state, mine, held_mode)
elseif state.waiters == 0 and hold.fits(state, mode) then
  mine = hold.admit(state, token, mode, lease, CONFIRMED, who)
end
if mine then
  hold.settle(state)
  line.recall(state, everyone)
  return {TKL_OK, mine.fence, tonumber(lease), state.now, 0}
end

local till, role = hold.first_end(state), 0
if mode == SHARED and not state.limit and not state.writer then
  till = math.min(till, state.now + WRITER_CHECK)
end
if channel ~= '' and not hold.given(LINE) then
  role = TKL__HOLD_PLACELESS
elseif channel ~= '' and not state.failure then
  local text = line.place(token, mode, lease, client, who, channel)
  local looks = stand(state, {text = text, token = token, client = client, who = who}, till)
  role = looks and TKL__HOLD_LOOKER or 0
end
hold.settle(state)
line.recall(state, everyone)
return state.failure or {TKL_BUSY, 0, till - state.now, state.now, role}
