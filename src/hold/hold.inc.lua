-- The state of a name, and its holders. The keys are explained in hold.c. `state` is the table that
-- hold.read() returns; functions that change something write it to the keys at once and keep the
-- table true. Times are microseconds, unless their names say otherwise.
-- include: keys
-- include: shared/clock
-- include: shared/decimal
-- include: shared/ranked
-- include: line/waiters

local hold = {}

-- The modes of holders and waiters.
local EXCLUSIVE, SHARED = 'x', 's'
-- The standing of holders: unconfirmed after a hand-over, until the new holder has renewed its
-- lease.
local CONFIRMED, UNCONFIRMED = 'confirmed', 'unconfirmed'
-- A hand-over lasts this long at most, until the new holder has confirmed it.
local FIRST_LEASE = TKL__LINE_FIRST_LEASE_MS * US_PER_MS
-- The longest lease.
local LONGEST = TKL__MS_MAX * US_PER_MS
-- The keys stay this long after the last lease, in milliseconds.
local LINGER_MS = 60000
-- How many dead waiters or ended leases one script handles; the next script handles the rest.
local AT_MOST = 40

-- ---- Texts --------------------------------------------------------------------------------------

-- A writer as it is stored: "token till fence since standing who".
function hold.writer_text(writer)
  return string.format('%s %d %d %d %s %s', writer.token, writer.till, writer.fence, writer.since,
                       writer.standing, writer.who)
end

-- Parses a stored writer; nil when the text is something else.
function hold.read_writer(text)
  local token, till, fence, since, standing, who =
      string.match(text, '^(%x+) (%d+) (%d+) (%d+) (%a+) (%S+)$')
  till, fence, since = decimal.read(till), decimal.read(fence), decimal.read(since)
  return till and fence and since and {token = token, till = till, fence = fence, since = since,
                                       standing = standing, who = who} or nil
end

-- A sharer as it is stored under its token: "fence since standing who".
function hold.sharer_text(sharer)
  return string.format('%d %d %s %s', sharer.fence, sharer.since, sharer.standing, sharer.who)
end

-- Parses a stored sharer, whose lease ends at `till`; nil when the text is something else.
function hold.read_sharer(text, token, till)
  local fence, since, standing, who = string.match(text or '', '^(%d+) (%d+) (%a+) (%S+)$')
  fence, since = decimal.read(fence), decimal.read(since)
  return fence and since and {token = token, till = tonumber(till), fence = fence, since = since,
                              standing = standing, who = who} or nil
end

-- Parses the looker, the waiter that has promised to look, and its time. Stored as "token at client
-- who". Nil when there is none.
function hold.read_looker(text)
  local token, at, client, host = string.match(text or '', '^(%x+) (%d+) (%x+) ([^/ ]*)/%S*$')
  at = decimal.read(at)
  return at and {token = token, at = at, client = client, host = host} or nil
end

-- ---- The state ----------------------------------------------------------------------------------

-- Whether the call names a key. While a cluster moves the slot, a call names STATE in the place of
-- keys that do not exist; a renewal by the keeper names no more keys than it needs.
function hold.given(key)
  return key and key ~= STATE
end

-- The number of members of a key. `noted`: STATE says that there are some. `knows`: STATE exists; a
-- server that lost STATE may still have the key. When the call does not name it, the note counts.
function hold.count(command, key, noted, knows)
  if hold.given(key) and (noted or not knows) then
    return redis.call(command, key)
  end
  return noted and 1 or 0
end

-- Reads the state of the name. Ends the script when another program has written it.
function hold.read()
  local fence, limit, writer, sharing, waiting, looker, news = unpack(redis.call(
      'HMGET', STATE, 'fence', 'limit', 'writer', 'sharing', 'waiting', 'looker', 'news'))
  local state = {
    now = clock.us(),
    fence = decimal.read(fence) or 0,
    limit = decimal.read(limit),
    writer = writer and hold.read_writer(writer),
    sharing = sharing == '1',
    waiting = waiting == '1',
    sharers = hold.count('ZCARD', SHARERS, sharing == '1', fence),
    waiters = hold.count('LLEN', LINE, waiting == '1', fence),
    looker = hold.read_looker(looker),
    news = news or nil, -- the channel where changes of the holder are published
    changed = false,    -- a holder came or went
    patience = AT_MOST, -- dead waiters that line.appoint() may still meet
    moved = not fence,  -- the end of the last lease, and so when the keys expire, has changed
  }
  if fence and not decimal.read(fence) or limit and not state.limit or
     writer and not state.writer then
    error({err = 'DAMAGED the state of this name was not written by tackle'})
  end
  -- The server lost the state, or the line of waiters that the state knows of.
  state.forgot = not fence and not state.waiting or state.waiting and state.waiters == 0
  return state
end

-- Whether the name has sharers, or waiters, in a key that the call does not name.
function hold.lacks_keys(state)
  return state.sharing and not hold.given(SHARERS) or state.waiting and not hold.given(LINE)
end

-- Whether a token holds, by what STATE alone says.
function hold.is_noted(state, token)
  return state.writer and state.writer.token == token or
         redis.call('HEXISTS', STATE, token) == 1
end

-- The answer while a cluster moves the slot and the script needs a key that the call does not name.
function hold.moving()
  return redis.error_reply('TRYAGAIN the slot of this name is moving')
end

-- Whether the lease of a holder still runs.
function hold.is_live(state, holder)
  return holder and holder.till > state.now
end

-- Every script that changes something calls this last: notes whether there are sharers and waiters,
-- says when the keys expire, and publishes that the holder changed.
function hold.settle(state)
  if state.sharing ~= (state.sharers > 0) then
    redis.call('HSET', STATE, 'sharing', state.sharers > 0 and '1' or '0')
  end
  if state.waiting ~= (state.waiters > 0) then
    redis.call('HSET', STATE, 'waiting', state.waiters > 0 and '1' or '0')
  end
  if state.news and state.changed then
    waiters.publish(state.news, 'changed')
  end
  if not state.moved then
    return
  end
  local last = state.writer and state.writer.till or state.now
  if state.sharers > 0 then
    last = tonumber(redis.call('ZRANGE', SHARERS, '-1', '-1', 'WITHSCORES')[2])
  end
  local expires = decimal.whole(clock.to_ms(math.min(last, state.now + LONGEST)) + LINGER_MS)
  redis.call('PEXPIREAT', STATE, expires)
  if state.sharers > 0 then
    redis.call('PEXPIREAT', SHARERS, expires)
  end
end

-- ---- Holders ------------------------------------------------------------------------------------

-- Whether one more holder of that mode fits.
function hold.fits(state, mode)
  if state.writer or state.limit and state.sharers >= state.limit then
    return false
  end
  return mode == SHARED or state.sharers == 0
end

-- Writes a holder, or its new lease.
function hold.write(state, holder, mode)
  state.moved = true
  if mode == EXCLUSIVE then
    redis.call('HSET', STATE, 'fence', decimal.whole(state.fence),
               'writer', hold.writer_text(holder))
    state.writer = holder
    return
  end
  local added = redis.call('ZADD', SHARERS, decimal.whole(holder.till), holder.token)
  state.sharers, state.sharing = state.sharers + added, true
  redis.call('HSET', STATE, 'fence', decimal.whole(state.fence), 'sharing', '1',
             holder.token, hold.sharer_text(holder))
end

-- Adds a new holder, with a fence that is greater than the last one and not behind the clock.
function hold.admit(state, token, mode, lease, standing, who)
  state.fence = math.max(state.fence + 1, state.now)
  state.changed = true
  local holder = {token = token, till = state.now + lease, fence = state.fence,
                  since = state.now, standing = standing, who = who}
  hold.write(state, holder, mode)
  return holder
end

-- Confirms a holder that has asked for this lease itself. The caller writes it with hold.write().
function hold.confirm(holder, till)
  holder.till, holder.standing = till, CONFIRMED
end

-- The holder with that token, and its mode; nil when the token holds nothing. When the call does
-- not name SHARERS, only a writer is found.
function hold.find(state, token)
  if state.writer and state.writer.token == token then
    return state.writer, EXCLUSIVE
  end
  local till = hold.given(SHARERS) and state.sharers > 0 and redis.call('ZSCORE', SHARERS, token)
  local sharer = till and hold.read_sharer(redis.call('HGET', STATE, token), token, till)
  if sharer then
    return sharer, SHARED
  end
end

-- Removes a holder; false when it did not hold.
function hold.remove(state, token)
  state.moved, state.changed = true, true
  if state.writer and state.writer.token == token then
    redis.call('HDEL', STATE, 'writer')
    state.writer = nil
    return true
  end
  redis.call('HDEL', STATE, token)
  local held = hold.given(SHARERS) and redis.call('ZREM', SHARERS, token) == 1
  state.sharers = state.sharers - (held and 1 or 0)
  return held
end

-- Notes that an heir never confirmed its hand-over and was passed over. Several heirs are silent
-- when another one was passed over in this script, in the script that handed over to this heir, or
-- since then.
function hold.note_silence(state, heir)
  local last = state.silent_at or decimal.read(redis.call('HGET', STATE, 'silent')) or 0
  if state.silent_at or heir.since <= last and heir.since >= last - FIRST_LEASE then
    state.several_silent = true
  end
  state.silent_at = state.now
  redis.call('HSET', STATE, 'silent', decimal.whole(state.now))
end

-- Removes a holder whose lease has ended.
function hold.expire(state, holder)
  hold.remove(state, holder.token)
  if holder.standing == UNCONFIRMED then
    hold.note_silence(state, holder)
  end
end

-- Removes the holders whose leases have ended.
function hold.remove_ended(state)
  if state.writer and state.writer.till <= state.now then
    hold.expire(state, state.writer)
  end
  if state.sharers > 0 then
    for _, token in ipairs(ranked.up_to(SHARERS, state.now, AT_MOST)) do
      local holder = hold.find(state, token)
      if holder then
        hold.expire(state, holder)
      else
        hold.remove(state, token)
      end
    end
  end
end

-- When the earliest lease ends; now, when nobody holds.
function hold.first_end(state)
  if state.writer then
    return state.writer.till
  end
  local first = state.sharers > 0 and redis.call('ZRANGE', SHARERS, '0', '0', 'WITHSCORES')[2]
  return first and math.min(tonumber(first), state.now + LONGEST) or state.now
end
