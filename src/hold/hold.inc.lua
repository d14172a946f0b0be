-- The state of a name, and its holders. The keys are explained in hold.c. `state` is the table that
-- read_state() returns; functions that change something write it to the keys at once and keep the
-- table true. Times are microseconds, unless their names say otherwise.

-- include: basics

-- A hand-over is for this long at most, until the new holder has confirmed it.
local FIRST_LEASE = 4000000
-- No lease is longer: ten years.
local LONGEST = 315360000000000
-- One script handles so many dead waiters or ended leases; the next script goes on.
local AT_MOST = 40

-- ---- Texts --------------------------------------------------------------------------------------

-- "token till fence since standing who"; nil when it is something else.
local function read_writer(text)
  local token, till, fence, since, standing, who =
      string.match(text, '^(%x+) (%d+) (%d+) (%d+) (%a+) (%S+)$')
  till, fence, since = exact(till), exact(fence), exact(since)
  return till and fence and since and {token = token, till = till, fence = fence, since = since,
                                       standing = standing, who = who} or nil
end

-- "fence since standing who" of the sharer with that token, whose lease ends at `till`; nil when it
-- is something else.
local function read_sharer(text, token, till)
  local fence, since, standing, who = string.match(text or '', '^(%d+) (%d+) (%a+) (%S+)$')
  fence, since = exact(fence), exact(since)
  return fence and since and {token = token, till = tonumber(till), fence = fence, since = since,
                              standing = standing, who = who} or nil
end

-- "token at client who" of the waiter that has promised to look, and when; nil: nobody has.
local function read_looker(text)
  local token, at, client, host = string.match(text or '', '^(%x+) (%d+) (%x+) ([^/ ]*)/%S*$')
  at = exact(at)
  return at and {token = token, at = at, client = client, host = host} or nil
end

-- ---- The state ----------------------------------------------------------------------------------

-- Everything there is to know, with the fields that were read already. Refuses what is not tackle's
-- before anything is written.
local function read_state(fields)
  local fence, limit, writer, sharing, waiting, looker = unpack(fields)
  local state = {
    now = clock_us(),
    fence = whole(fence) or 0,
    limit = whole(limit),
    writer = writer and read_writer(writer),
    sharers = redis.call('ZCARD', SHARERS),
    waiters = redis.call('LLEN', LINE),
    sharing = sharing == '1',
    waiting = waiting == '1',
    looker = read_looker(looker),
    patience = AT_MOST, -- dead waiters that appoint() may still meet
    moved = not fence,  -- the end of the last lease has changed, or nobody has said when the keys expire
  }
  if fence and not whole(fence) or limit and not state.limit or writer and not state.writer then
    error({err = 'DAMAGED the state of this name was not written by tackle'})
  end
  -- The server lost the state, or the line of waiters that the state knows of.
  state.forgot = not fence and not state.waiting or state.waiting and state.waiters == 0
  return state
end

-- Ends every script that changes something: notes whether there are sharers and waiters, and says
-- when the keys expire.
local function settle(state)
  if state.sharing ~= (state.sharers > 0) then
    redis.call('HSET', STATE, 'sharing', state.sharers > 0 and '1' or '0')
  end
  if state.waiting ~= (state.waiters > 0) then
    redis.call('HSET', STATE, 'waiting', state.waiters > 0 and '1' or '0')
  end
  if not state.moved then
    return
  end
  local last = state.writer and state.writer.till or state.now
  if state.sharers > 0 then
    last = tonumber(redis.call('ZRANGE', SHARERS, '-1', '-1', 'WITHSCORES')[2])
  end
  local expires = digits(to_ms(math.min(last, state.now + LONGEST)) + LINGER_MS)
  redis.call('PEXPIREAT', STATE, expires)
  if state.sharers > 0 then
    redis.call('PEXPIREAT', SHARERS, expires)
  end
end

-- ---- Holders ------------------------------------------------------------------------------------

-- Whether one more of that mode may hold.
local function fits(state, mode)
  if state.writer or state.limit and state.sharers >= state.limit then
    return false
  end
  return mode == SHARED or state.sharers == 0
end

-- Writes a holder down, or its new lease.
local function put(state, holder, mode)
  state.moved = true
  if mode == EXCLUSIVE then
    redis.call('HSET', STATE, 'fence', digits(state.fence), 'writer',
               writer_text(holder.token, holder.till, holder.fence, holder.since, holder.standing,
                           holder.who))
    state.writer = holder
    return
  end
  redis.call('HSET', STATE, 'fence', digits(state.fence), 'sharing', '1',
             holder.token, sharer_text(holder.fence, holder.since, holder.standing, holder.who))
  state.sharing = true
  state.sharers = state.sharers + redis.call('ZADD', SHARERS, digits(holder.till), holder.token)
end

-- A new holder, with a fence of its own.
local function admit(state, token, mode, lease, standing, who)
  state.fence = fence_after(state.fence, state.now)
  local holder = {token = token, till = state.now + lease, fence = state.fence,
                  since = state.now, standing = standing, who = who}
  put(state, holder, mode)
  return holder
end

-- The holder has asked for this lease itself; put() writes it down.
local function confirm(holder, till)
  holder.till, holder.standing = till, CONFIRMED
end

-- The holder of that token, and its mode; nil when it does not hold.
local function find(state, token)
  if state.writer and state.writer.token == token then
    return state.writer, EXCLUSIVE
  end
  local till = state.sharers > 0 and redis.call('ZSCORE', SHARERS, token)
  local sharer = till and read_sharer(redis.call('HGET', STATE, token), token, till)
  if sharer then
    return sharer, SHARED
  end
end

-- Forgets a holder; false when it did not hold.
local function drop(state, token)
  state.moved = true
  if state.writer and state.writer.token == token then
    redis.call('HDEL', STATE, 'writer')
    state.writer = nil
    return true
  end
  redis.call('HDEL', STATE, token)
  local held = redis.call('ZREM', SHARERS, token) == 1
  state.sharers = state.sharers - (held and 1 or 0)
  return held
end

-- An heir never confirmed the hand-over. Notes when it was passed over, and whether another one
-- was, in this script or by the script that handed over to this one, or since.
local function note_silence(state, heir)
  local last = state.silent_at or whole(redis.call('HGET', STATE, 'silent')) or 0
  if state.silent_at or heir.since <= last and heir.since >= last - FIRST_LEASE then
    state.several_silent = true
  end
  state.silent_at = state.now
  redis.call('HSET', STATE, 'silent', digits(state.now))
end

-- Forgets a holder whose lease has ended.
local function drop_one_ended(state, holder)
  drop(state, holder.token)
  if holder.standing == UNCONFIRMED then
    note_silence(state, holder)
  end
end

-- Forgets the holders whose lease has ended.
local function drop_ended(state)
  if state.writer and state.writer.till <= state.now then
    drop_one_ended(state, state.writer)
  end
  if state.sharers > 0 then
    local ended = redis.call('ZRANGE', SHARERS, '-inf', digits(state.now), 'BYSCORE',
                             'LIMIT', '0', AT_MOST)
    for _, token in ipairs(ended) do
      local holder = find(state, token)
      if holder then
        drop_one_ended(state, holder)
      else
        drop(state, token)
      end
    end
  end
end

-- When the earliest lease ends; now, when nobody holds.
local function first_end(state)
  if state.writer then
    return state.writer.till
  end
  local first = state.sharers > 0 and redis.call('ZRANGE', SHARERS, '0', '0', 'WITHSCORES')[2]
  return first and math.min(tonumber(first), state.now + LONGEST) or state.now
end
