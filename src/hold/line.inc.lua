-- The line of the waiters of a name: their places, messages to them, the looker, and handing over.
-- The essay of hold.c explains why.

-- include: hold

-- The line stays this long after the last sign of life of a waiter, in milliseconds.
local LINE_MS = 900000
-- A promise to look that differs by less is in time.
local SLACK = 100000
-- The looker is chosen among so many at the end of the line.
local CANDIDATES = 4
-- How far apart two waiters are: of one client, of one machine, of different machines; and less
-- than any of them.
local NOBODY, SAME_CLIENT, SAME_HOST, APART = -1, 0, 1, 2

-- ---- Messages -----------------------------------------------------------------------------------

-- Publishes, and says how many heard it; nil when it is forbidden, which becomes the script's
-- answer. Always after a write: a server that refuses writes must not announce what was not
-- written.
local function tell(state, channel, message)
  local heard = redis.pcall('SPUBLISH', channel, message)
  if type(heard) == 'table' then
    state.failure = heard
    return nil
  end
  return heard
end

-- The server lost the state or the line, and the waiters their places: tells every waiter of the
-- name to stand in line again.
local function recall(state, everyone)
  if state.forgot then
    redis.pcall('SPUBLISH', everyone, ' recall')
  end
end

-- ---- Places -------------------------------------------------------------------------------------

local function host_of(who)
  return string.match(who, '^[^/]*')
end

-- A waiter as it stands in the line: "token mode lease client who channel".
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

-- ---- Looking ------------------------------------------------------------------------------------

-- What silences a waiter silences all of its client, or all of its machine.
local function distance(one, other)
  if one.host ~= other.host then
    return APART
  end
  return one.client == other.client and SAME_CLIENT or SAME_HOST
end

-- Of the last waiters, who will wait longest, the one that is farthest from the heir (if there is
-- one), and farther than `least`.
local function farthest(heir, least)
  local last, best = redis.call('LRANGE', LINE, -CANDIDATES, '-1'), nil
  for i = #last, 1, -1 do
    local waiter = read_place(last[i])
    local far = waiter and (heir and distance(waiter, heir) or APART) or NOBODY
    if far > least then
      best, least = waiter, far
    end
  end
  return best
end

-- A lease ends at `till`, earlier than the waiters expect: tells one of them to look then, unless
-- one has promised to look in time. The looker should not share the fate of the heir.
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

-- ---- Handing over -------------------------------------------------------------------------------

-- Gives it to the first waiter for FIRST_LEASE: writes that down, then tells. Nobody heard it: that
-- waiter's process is gone, and so is its place. False when telling is forbidden. A waiter that
-- wants no longer lease has nothing to confirm.
local function hand_to(state, waiter)
  local lease = math.min(waiter.lease, FIRST_LEASE)
  local standing = lease < waiter.lease and UNCONFIRMED or CONFIRMED
  local holder = admit(state, waiter.token, waiter.mode, lease, standing, waiter.who)
  local grant = string.format('%s grant %d %d %d', waiter.token, holder.fence, state.now, lease)
  local heard = tell(state, waiter.channel, grant)
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

-- Two heirs fell silent: more waiters may be silent, and each would cost FIRST_LEASE. The first
-- ones lose their places and are told to stand in line again, which the living do at once.
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
