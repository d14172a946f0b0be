-- Holding a name: reading its state, its holders, the line of its waiters, and handing over. The keys
-- are explained in hold.c. `state` is the table that read_state() returns; functions that change
-- something write it to the keys at once and keep the table true.

-- include: basics

-- The line stays this long after the last sign of life of a waiter. Times are microseconds, unless their
-- names say otherwise.
local LINE_MS = 900000
-- A hand-over is for this long at most, until the new holder has confirmed it.
local FIRST_LEASE = 4000000
-- No lease is longer: ten years.
local LONGEST = 315360000000000
-- A promise to look that differs by less is in time.
local SLACK = 100000
-- One script handles so many dead waiters or ended leases; the next script goes on.
local AT_MOST = 40
-- The looker is chosen among so many at the end of the line.
local CANDIDATES = 4
-- How far apart two waiters are: of one client, of one machine, of different machines; and less than
-- any of them.
local NOBODY, SAME_CLIENT, SAME_HOST, APART = -1, 0, 1, 2

-- ---- Texts --------------------------------------------------------------------------------------

local function host_of(who)
  return string.match(who, '^[^/]*')
end

-- "token till fence since standing who"; nil when it is something else.
local function read_writer(text)
  local token, till, fence, since, standing, who =
      string.match(text, '^(%x+) (%d+) (%d+) (%d+) (%a+) (%S+)$')
  till, fence, since = exact(till), exact(fence), exact(since)
  return till and fence and since and {token = token, till = till, fence = fence, since = since,
                                       standing = standing, who = who} or nil
end

-- "fence since standing who" of the sharer with that token, whose lease ends at `till`; nil when it is
-- something else.
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

-- A waiter as it stands in the line.
local function place(token, mode, lease, client, who, channel)
  return table.concat({token, mode, lease, client, who, channel}, ' ')
end

-- nil when another program wrote it.
local function read_place(text)
  local token, mode, lease, client, who, channel =
      string.match(text, '^(%x+) ([xs]) (%d+) (%x+) (%S+) (.+)$')
  lease = exact(lease)
  return lease and {text = text, token = token, mode = mode, lease = math.min(lease, LONGEST),
                    client = client, who = who, host = host_of(who), channel = channel} or nil
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

-- Ends every script that changes something: notes whether anybody shares or waits, and says when the
-- keys expire.
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

-- An heir never confirmed the hand-over. Notes when it was passed over, and whether another one was,
-- in this script or by the script that handed over to this one, or since.
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

-- ---- The line -----------------------------------------------------------------------------------

-- Publishes, and says how many heard it; nil when it is forbidden, which becomes the script's answer.
-- Always after a write: a server that refuses writes must not announce what was not written.
local function tell(state, channel, message)
  local heard = redis.pcall('SPUBLISH', channel, message)
  if type(heard) == 'table' then
    state.failure = heard
    return nil
  end
  return heard
end

-- The server lost the state or the line, with the places of all who wait: tells every waiter of the
-- name to stand in line again.
local function recall(state, everyone)
  if state.forgot then
    redis.pcall('SPUBLISH', everyone, ' recall')
  end
end

local function set_looker(state, waiter, at)
  state.looker = {token = waiter.token, at = at, client = waiter.client, host = host_of(waiter.who)}
  redis.call('HSET', STATE, 'looker',
             string.format('%s %d %s %s', waiter.token, at, waiter.client, waiter.who))
end

local function forget_looker(state, token)
  if state.looker and state.looker.token == token then
    redis.call('HDEL', STATE, 'looker')
    state.looker = nil
  end
end

local function leave_line(state, token, text)
  state.waiters = state.waiters - redis.call('LREM', LINE, '1', text)
  forget_looker(state, token)
end

local function pop_first(state, waiter)
  redis.call('LPOP', LINE)
  state.waiters = state.waiters - 1
  if waiter then
    forget_looker(state, waiter.token)
  end
end

-- What silences a waiter silences all of its client, or all of its machine.
local function distance(one, other)
  if one.host ~= other.host then
    return APART
  end
  return one.client == other.client and SAME_CLIENT or SAME_HOST
end

-- The same for a waiter as it stands in the line, without taking its text apart.
local function distance_of_place(text, other)
  if not string.find(text, ' ' .. other.host .. '/', 1, true) then
    return APART
  end
  return string.find(text, ' ' .. other.client .. ' ', 1, true) and SAME_CLIENT or SAME_HOST
end

-- Of the last waiters, who will wait longest, the one that is farthest from the heir, if it is farther
-- than `least`.
local function farthest(heir, least)
  local last = redis.call('LRANGE', LINE, -CANDIDATES, '-1')
  local best
  for i = #last, 1, -1 do
    local far = heir and distance_of_place(last[i], heir) or APART
    local waiter = far > least and read_place(last[i])
    if waiter then
      best, least = waiter, far
    end
  end
  return best
end

-- A lease ends at `till`, earlier than the waiters expect: tells one of them to look then, unless one
-- has promised to look in time. The looker should not share the fate of the heir.
local function appoint(state, till, heir)
  local looker, promised = state.looker, NOBODY
  if looker and looker.at > state.now - SLACK and looker.at <= till + SLACK then
    promised = heir and distance(looker, heir) or APART
  end
  if promised == APART or state.waiters == 0 then
    return
  end
  for _ = 1, state.patience do
    local best = farthest(heir, promised)
    local heard = best and tell(state, best.channel,
                                string.format('%s look %d', best.token, till - state.now))
    if not heard then
      return
    end
    if heard > 0 then
      set_looker(state, best, till)
      return
    end
    state.waiters = state.waiters - redis.call('LREM', LINE, '-1', best.text) -- it is gone
    state.patience = state.patience - 1
  end
end

-- Gives it to the first waiter for FIRST_LEASE: writes that down, then tells. Nobody heard it: that
-- waiter's process is gone, and so is its place. False when telling is forbidden. A waiter that wants no
-- longer lease has nothing to confirm.
local function hand_to(state, waiter)
  local lease = math.min(waiter.lease, FIRST_LEASE)
  local standing = lease < waiter.lease and UNCONFIRMED or CONFIRMED
  local holder = admit(state, waiter.token, waiter.mode, lease, standing, waiter.who)
  local heard = tell(state, waiter.channel,
                     string.format('%s grant %d %d %d', waiter.token, holder.fence, state.now, lease))
  if heard ~= nil then
    pop_first(state, waiter)
  end
  if heard == nil or heard == 0 then
    drop(state, waiter.token)
    return heard ~= nil
  end
  appoint(state, holder.till, waiter)
  return true
end

-- Two heirs fell silent: more waiters may be silent, and each would cost FIRST_LEASE. The first ones
-- lose their places and are told to stand in line again, which the living do at once.
local function send_back(state)
  for _ = 1, math.min(state.waiters, AT_MOST) do
    local waiter = read_place(redis.call('LINDEX', LINE, '0'))
    if waiter and not tell(state, waiter.channel, waiter.token .. ' recall') then
      return
    end
    pop_first(state, waiter)
  end
end

-- Whether a waiting writer keeps later readers out, although readers hold: not when it is gone.
local function is_heard(waiter)
  return redis.pcall('PUBSUB', 'SHARDNUMSUB', waiter.channel)[2] ~= 0
end

-- Gives what is free to the waiters, in order.
local function hand_over(state)
  if state.several_silent then
    send_back(state)
  end
  for _ = 1, AT_MOST do
    if state.waiters == 0 or not fits(state, SHARED) then
      return
    end
    local waiter = read_place(redis.call('LINDEX', LINE, '0'))
    if waiter and fits(state, waiter.mode) then
      if not hand_to(state, waiter) then
        return
      end
    elseif waiter and is_heard(waiter) then
      return
    else
      pop_first(state, waiter)
    end
  end
  appoint(state, state.now) -- there may be more to hand over
end
