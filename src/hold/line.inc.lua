-- The line of a name: places of waiters, messages to them, the looker, and handing over.
-- The essay of hold.c explains why.
-- include: hold
-- include: line/waiters

local line = {}

-- The line stays this long after the last sign of life of a waiter, in milliseconds.
local LINE_MS = 900000
-- A promise to look counts as in time when it differs by less than this.
local SLACK = 100000
-- The looker is chosen among this many waiters at the end of the line.
local CANDIDATES = 4
-- How far apart two waiters are: same client, same machine, different machines. NOBODY is less than
-- any of them.
local NOBODY, SAME_CLIENT, SAME_HOST, APART = -1, 0, 1, 2

-- ---- Messages -----------------------------------------------------------------------------------

-- Notes why a waiter could not be told something; that error becomes the script's answer.
function line.note(state, answer, failure)
  state.failure = state.failure or failure
  return answer
end

-- Recalls all waiters of the name when the server lost the state or the line, and with it their
-- places.
function line.recall(state, everyone)
  if state.forgot then
    waiters.recall_all(everyone)
  end
end

-- ---- Places -------------------------------------------------------------------------------------

function line.host_of(who)
  return string.match(who, '^[^/]*')
end

-- A waiter as stored in the line: "token mode lease client who channel".
function line.place(token, mode, lease, client, who, channel)
  return table.concat({token, mode, lease, client, who, channel}, ' ')
end

-- Parses a place in the line; nil when another program wrote it.
function line.read_place(text)
  local token, mode, lease, client, who, channel =
      string.match(text, '^(%x+) ([xs]) (%d+) (%x+) (%S+) (.+)$')
  lease = decimal.read(lease)
  return lease and {text = text, token = token, mode = mode, lease = math.min(lease, LONGEST),
                    client = client, who = who, host = line.host_of(who), channel = channel} or nil
end

-- Notes that a waiter has promised to look at a time.
function line.write_looker(state, waiter, at)
  state.looker = {token = waiter.token, at = at, client = waiter.client,
                  host = line.host_of(waiter.who)}
  redis.call('HSET', STATE, 'looker',
             string.format('%s %d %s %s', waiter.token, at, waiter.client, waiter.who))
end

-- Removes the promise to look if this waiter made it.
function line.remove_looker(state, token)
  if state.looker and state.looker.token == token then
    redis.call('HDEL', STATE, 'looker')
    state.looker = nil
  end
end

-- Removes a waiter from the line.
function line.leave(state, token, text)
  if hold.given(LINE) then
    state.waiters = state.waiters - redis.call('LREM', LINE, '1', text)
  end
  line.remove_looker(state, token)
end

-- Removes the first waiter of the line; `waiter` is nil when another program wrote that place.
function line.pop_first(state, waiter)
  redis.call('LPOP', LINE)
  state.waiters = state.waiters - 1
  if waiter then
    line.remove_looker(state, waiter.token)
  end
end

-- Removes a waiter whose client does not listen here, the first or the last of the line, and
-- recalls it.
function line.dismiss(state, waiter, from_the_end)
  local removed = redis.call('LREM', LINE, from_the_end and '-1' or '1', waiter.text)
  state.waiters = state.waiters - removed
  line.remove_looker(state, waiter.token)
  line.note(state, waiters.recall(waiter))
end

-- ---- Looking ------------------------------------------------------------------------------------

-- How far apart two waiters are. A failure can silence a whole client, or a whole machine.
function line.distance(one, other)
  if one.host ~= other.host then
    return APART
  end
  return one.client == other.client and SAME_CLIENT or SAME_HOST
end

-- Chooses among the last waiters, which will wait longest, the one farthest from the heir (if there
-- is one), and farther than `least`.
function line.farthest(heir, least)
  local last, best = redis.call('LRANGE', LINE, -CANDIDATES, '-1'), nil
  for i = #last, 1, -1 do
    local waiter = line.read_place(last[i])
    local far = waiter and (heir and line.distance(waiter, heir) or APART) or NOBODY
    if far > least then
      best, least = waiter, far
    end
  end
  return best
end

-- Tells a waiter to look at `till`, when a lease ends earlier than the waiters expect, unless a
-- waiter has promised to look in time. The looker should not fail together with the heir.
function line.appoint(state, till, heir)
  local looker, promised = state.looker, NOBODY
  if looker and looker.at > state.now - SLACK and looker.at <= till + SLACK then
    promised = heir and line.distance(looker, heir) or APART
  end
  if promised == APART or state.waiters == 0 then
    return
  end
  for _ = 1, state.patience do
    local best = line.farthest(heir, promised)
    local heard = best and line.note(state, waiters.ask_to_look(best, till - state.now))
    if not heard then
      return
    end
    if heard > 0 then
      line.write_looker(state, best, till)
      return
    end
    line.dismiss(state, best, true)
    state.patience = state.patience - 1
  end
end

-- ---- Handing over -------------------------------------------------------------------------------

-- Grants to the first waiter for FIRST_LEASE at most: stores the grant, then publishes it. The
-- waiter listens here, so it hears the grant, which is never taken back. False: publishing is
-- forbidden. A waiter whose own lease is no longer than FIRST_LEASE has nothing to confirm.
function line.hand_to(state, waiter)
  local lease = math.min(waiter.lease, FIRST_LEASE)
  local standing = lease < waiter.lease and UNCONFIRMED or CONFIRMED
  local holder = hold.admit(state, waiter.token, waiter.mode, lease, standing, waiter.who)
  local grant = string.format('grant %d %d %d', holder.fence, state.now, lease)
  if not line.note(state, waiters.tell(waiter, grant)) then
    hold.remove(state, waiter.token)
    return false
  end
  line.pop_first(state, waiter)
  line.appoint(state, holder.till, waiter)
  return true
end

-- Sends the first waiters back to the end of the line after two heirs fell silent: more may be
-- silent, and each would cost FIRST_LEASE. The living stand in line again at once.
function line.send_back(state)
  for _ = 1, math.min(state.waiters, AT_MOST) do
    local waiter = line.read_place(redis.call('LINDEX', LINE, '0'))
    if waiter and not line.note(state, waiters.recall(waiter)) then
      return
    end
    line.pop_first(state, waiter)
  end
end

-- Grants the free places to the waiters, in order.
function line.hand_over(state)
  if state.several_silent then
    line.send_back(state)
  end
  for _ = 1, AT_MOST do
    if state.waiters == 0 or not hold.fits(state, SHARED) then
      return
    end
    local waiter = line.read_place(redis.call('LINDEX', LINE, '0'))
    local here = waiter and line.note(state, waiters.is_here(waiter))
    if not waiter then
      line.pop_first(state)
    elseif here == false then
      line.dismiss(state, waiter)
    elseif waiter.mode == SHARED and not hold.given(SHARERS) then
      line.appoint(state, state.now) -- the looker asks until the cluster has moved the slot
      return
    elseif here == nil or not hold.fits(state, waiter.mode) or not line.hand_to(state, waiter) then
      return -- a waiting writer keeps later readers out
    end
  end
  line.appoint(state, state.now) -- the looker checks at once whether there is more to hand over
end
