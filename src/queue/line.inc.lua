-- The line of waiters: see "Waiting" and "Looking" in queue.c.
-- include: shared/clock
-- include: line/waiters
-- include: jobs
-- include: events

local line = {}

local CLAIMS = 1000         -- at most, in one script
local HAND_OVERS = 100      -- at most, in one script
local CANDIDATES = 8        -- waiters that may be asked to look
local LINE_MS = 86400000    -- the line expires when no waiter has stood in it for this long
local RECALL_MS = 1000      -- waiters are recalled at most this often
local BACKUP_MS = 500       -- a moment this close to an announced one is not announced
local LOOK_MS = 10000       -- a waiter looks at least this often while something is delayed or
                            -- leased: the server's clock may jump

-- ---- Waiters ----

-- A waiter as stored in the line: "token lease channel".
function line.place(token, lease, channel)
  return token .. ' ' .. lease .. ' ' .. channel
end

-- Parses a place in the line; nil when another program wrote it.
function line.read_place(text)
  local token, lease, channel = string.match(text, '^(%S+) (%d+) (.*)$')
  return token and {token = token, lease = tonumber(lease), channel = channel} or nil
end

-- Gives a waiter a place. True when it had none.
function line.enter(waiting, place, arrival)
  local entered = redis.call('ZADD', WAITERS, 'NX', arrival, place)
  waiting.count = waiting.count + entered
  return entered == 1
end

-- Removes a waiter from the line. True when it had a place.
function line.leave(waiting, place)
  local left = redis.call('ZREM', WAITERS, place)
  waiting.count = waiting.count - left
  return left == 1
end

-- ---- The gate: how many jobs may be claimed ----

-- Opens the gate: `room` says how many jobs may be claimed now, `taken` how many this script has
-- claimed.
function line.open_gate(meta)
  local gate = {room = CLAIMS, taken = 0, large = meta.large, watched = meta.watched}
  if meta.paused then
    gate.room = 0
  elseif meta.concurrency then
    gate.room = math.min(CLAIMS, meta.concurrency - redis.call('ZCARD', ACTIVE))
  end
  local rate, period = meta.rate or 0, meta.rate_period or 0
  if rate > 0 and period > 0 and gate.room > 0 then
    -- A funnel: each claim fills it by a step, and it holds a period's worth.
    gate.step, gate.period = period / rate, period
    gate.full_at = math.min(math.max(meta.full_at or 0, now), now + period)
    gate.room = math.min(gate.room, math.floor((now + period - gate.full_at) / gate.step))
  end
  return gate
end

function line.take_room(gate, count)
  gate.room, gate.taken = gate.room - count, gate.taken + count
end

-- Stores how much of the rate the claims of this script have used.
function line.close_gate(gate)
  if gate.step and gate.taken > 0 then
    redis.call('HSET', META, 'full_at',
               string.format('%.3f', gate.full_at + gate.taken * gate.step))
  end
end

-- The first moment at which a job is due, a lease ends, the rate allows the next claim, or a waiter
-- that was recalled is late.
function line.first_moment(gate)
  local moment
  if gate.step and gate.room < 1 and redis.call('EXISTS', READY) == 1 then
    moment = math.ceil(gate.full_at + (gate.taken + 1) * gate.step - gate.period)
  end
  if gate.recalled then
    moment = math.min(moment or math.huge, now + TKL__LINE_FIRST_LEASE_MS)
  end
  for _, key in ipairs({DELAYED, ACTIVE}) do
    local first = tonumber(redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2])
    if first then
      moment = math.min(moment or math.huge, math.ceil(first))
    end
  end
  return moment and math.max(now, math.min(moment, now + LOOK_MS))
end

-- ---- Handing jobs over ----

-- The message that hands a job over. Nil: the waiter is recalled instead, and claims the job,
-- because the job is large, has a group, frees its unique key when it starts, or is at its last
-- attempt: the server must know the worker before that attempt begins.
function line.offer(id, lease_ms, gate)
  if gate.large and redis.call('HSTRLEN', JOBS, id) > LARGE then
    return nil
  end
  local record, retries = jobs.record_of(id), RETRIES
  if jobs.has_options(record) then
    local job = jobs.read(record)
    if job.group > 0 or job.until_started then
      return nil
    end
    retries = job.retries
  end
  local history = redis.call('HGET', HISTORY, id) or ''
  if jobs.read_history(history).failures >= retries then
    return nil
  end
  return table.concat({'job', id, decimal.whole(now), decimal.whole(lease_ms), #history,
                       history .. record}, ' ')
end

-- Hands the first ready job to a waiter: stores the claim, then publishes it. Nil: this user may
-- not publish.
function line.hand_to(waiter, id, score, lease_ms, job)
  local claim = jobs.claim_of(id, waiter.token)
  redis.call('ZADD', ACTIVE, jobs.unconfirmed_end(now + lease_ms), claim)
  redis.call('ZREM', READY, id)
  local heard = waiters.tell(waiter, job)
  if not heard then
    redis.call('ZREM', ACTIVE, claim)
    redis.call('ZADD', READY, score, id)
  end
  return heard
end

-- Hands the first ready job to the first waiter, or recalls the waiter. False when there is nothing
-- more to do.
function line.hand_over_first(waiting, gate)
  local place, arrival = unpack(redis.call('ZRANGE', WAITERS, 0, 0, 'WITHSCORES'))
  local id, score = unpack(place and redis.call('ZRANGE', READY, 0, 0, 'WITHSCORES') or {})
  if not id then
    return false
  end
  local waiter = line.read_place(place)
  line.leave(waiting, place)
  if not waiter then
    return true
  end
  local lease_ms = math.min(waiter.lease, TKL__LINE_FIRST_LEASE_MS)
  local job = waiters.is_here(waiter) and line.offer(id, lease_ms, gate)
  local heard
  if job then
    heard = line.hand_to(waiter, id, score, lease_ms, job)
    line.take_room(gate, heard and 1 or 0)
    if heard then
      events.publish(gate, 'claimed', {id})
    end
  else
    heard = waiters.recall(waiter)
    gate.recalled = gate.recalled or heard and heard > 0
  end
  if not heard then -- the waiter stays first, and finds the job when it looks
    line.enter(waiting, place, arrival)
  end
  return heard and (job or heard == 0)
end

-- Hands ready jobs to the waiters, in order. A waiter that does not hear the message is gone, or
-- comes back. True when there may be more to hand over.
function line.hand_over(waiting, gate)
  for _ = 1, HAND_OVERS do
    if gate.room < 1 or waiting.count == 0 or not line.hand_over_first(waiting, gate) then
      return false
    end
  end
  return true
end

-- ---- Looking ----

-- The notes of the line: `look`, when a waiter looks; `looker`, which one; `told`, the moment
-- announced to all waiters; `recalled`, when they were recalled.
function line.read_notes()
  local look, told, recalled, looker =
      unpack(redis.call('HMGET', LINE, 'look', 'told', 'recalled', 'looker'))
  return {look = tonumber(look), told = tonumber(told), recalled = tonumber(recalled),
          looker = looker or ''}
end

function line.write_notes(...)
  redis.call('HSET', LINE, ...)
  redis.call('PEXPIRE', LINE, LINE_MS)
end

-- Whether a waiter that is in line has promised to look at that moment, or before.
function line.is_promised(notes, moment)
  return notes.look and notes.look > now and notes.look <= moment and
         redis.call('ZSCORE', WAITERS, notes.looker)
end

-- Announces to all waiters when one of them looks. The others look a little later, unless they hear
-- of another moment before; so moments that are close together need no second announcement. A claim
-- has looked itself: its message says so and names the waiter that looks next, so the others know
-- that nothing is late.
function line.announce(waiting, moment, token)
  local notes = waiting.notes
  if not notes.told or moment < notes.told or moment > notes.told + BACKUP_MS then
    local looked = waiting.has_looked and token
    local word = looked and 'looked ' or 'look '
    waiters.publish(LINE, word .. decimal.whole(moment - now) .. ' ' .. (looked or ''))
    line.write_notes('told', decimal.whole(moment))
  end
end

-- Announces to all waiters that nothing is due, now or later.
function line.announce_rest(notes)
  if notes.told then
    waiters.publish(LINE, 'rest')
    redis.call('HDEL', LINE, 'told', 'look', 'looker')
  end
end

-- Notes and announces that a waiter has promised to look.
function line.promise(waiting, place, token, moment)
  line.write_notes('look', decimal.whole(moment), 'looker', place)
  line.announce(waiting, moment, token)
end

-- Asks a waiter to look at the moment, unless one has promised to. Asks the newest first, since
-- they will wait longest. Dismisses waiters that do not hear it.
function line.appoint(waiting, moment)
  local notes = waiting.notes
  if line.is_promised(notes, moment) then
    return
  end
  if notes.look and notes.look > now then
    moment = math.min(moment, notes.look)
  end
  local candidates = redis.call('ZRANGE', WAITERS, 0, CANDIDATES - 1, 'REV')
  for _, place in ipairs(candidates) do
    local waiter = line.read_place(place)
    local heard = waiter and waiters.ask_to_look(waiter, moment - now) or 0
    if heard > 0 then
      return line.promise(waiting, place, waiter.token, moment)
    end
    if line.leave(waiting, place) and waiter then
      waiters.recall(waiter)
    end
  end
  if candidates[1] then
    line.announce(waiting, moment)
  end
end

-- Recalls all waiters to an empty line: those that lost their places (FLUSHALL, eviction, a clock
-- that jumped) stand in line again. `token`: the waiter that is in line now, if any.
function line.recall(notes, token)
  local lately = notes.recalled and math.abs(now - notes.recalled) < RECALL_MS
  if not lately and waiters.recall_all(LINE, token) > 0 then
    line.write_notes('recalled', decimal.whole(now))
  end
end

-- ---- Around a change ----

-- Call it before a change: checks all keys. Returns how many waiters are in line, whether the line
-- was empty when the script began, and its notes. A claim adds `has_looked`: it has handled
-- everything that was due.
function line.read_waiting()
  totals.check_keys()
  local count = redis.call('ZCARD', WAITERS)
  return {count = count, was_empty = count == 0, notes = line.read_notes()}
end

-- Call it after a change: hands ready jobs to the waiters, and asks one to look at the next moment.
function line.wake(waiting, gate)
  if waiting.was_empty then
    return line.recall(waiting.notes)
  end
  local more = line.hand_over(waiting, gate)
  line.close_gate(gate)
  local moment = more and now or waiting.count > 0 and line.first_moment(gate)
  if moment then
    line.appoint(waiting, moment)
  end
end

-- Gives a place to a waiter that found no jobs. Returns in how many milliseconds it should look
-- (-1: no need), and 1 if another waiter looks then.
function line.wait_in_line(waiting, place, token, gate)
  local notes = waiting.notes
  local arrived = line.enter(waiting, place, decimal.whole(clock.us()))
  local alone = waiting.count == 1
  redis.call('PEXPIRE', WAITERS, LINE_MS)
  if arrived and alone then
    line.recall(notes, token)
  end
  local moment = line.first_moment(gate)
  if not moment then
    line.announce_rest(notes)
    return -1, 0
  end
  local other = notes.looker ~= place and line.is_promised(notes, moment)
  if not other and alone then
    line.write_notes('look', decimal.whole(moment), 'looker', place)
    redis.call('HDEL', LINE, 'told')
  elseif not other then
    line.promise(waiting, place, token, moment)
  end
  return moment - now, other and 1 or 0
end
