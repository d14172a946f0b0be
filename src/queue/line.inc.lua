-- The line of waiters: see "Waiting" and "Looking" in queue.c.
-- include: shared/clock
-- include: jobs

local line = {}

local CLAIMS = 1000         -- at most, in one script
local HAND_OVERS = 100      -- at most, in one script
local CANDIDATES = 8        -- waiters that may be asked to look
local LINE_MS = 86400000    -- the line expires when no waiter has stood in it for this long
local CALL_MS = 1000        -- waiters are called back to the line at most this often
local BACKUP_MS = 500       -- a moment this close to an announced one is not announced
local FIRST_LEASE_MS = 4000 -- a hand-over lasts this long at most, until its receiver renews it;
                            -- a waiter that was asked to come has the same time
local LOOK_MS = 10000       -- a waiter looks at least this often while something is delayed or
                            -- leased: the server's clock may jump

-- ---- Waiters ----

-- A waiter is "token lease channel".
function line.waiter_of(token, lease, channel)
  return token .. ' ' .. lease .. ' ' .. channel
end

function line.read_waiter(waiter)
  return string.match(waiter, '^(%S+) (%d+) (.*)$')
end

-- Publishes a message. Returns how many clients heard it; nil when this user may not publish there.
function line.publish(channel, message)
  local heard = redis.pcall('SPUBLISH', channel, message)
  return type(heard) == 'number' and heard or nil
end

-- Whether a client listens to the channel at this server; nil when this user may not ask.
function line.is_heard(channel)
  local listeners = redis.pcall('PUBSUB', 'SHARDNUMSUB', channel)
  return listeners[2] and listeners[2] > 0
end

-- Gives a waiter a place. True when it had none.
function line.enter(waiting, waiter, arrival)
  local entered = redis.call('ZADD', WAITERS, 'NX', arrival, waiter)
  waiting.count = waiting.count + entered
  return entered == 1
end

-- Removes a waiter from the line. True when it had a place.
function line.leave(waiting, waiter)
  local left = redis.call('ZREM', WAITERS, waiter)
  waiting.count = waiting.count - left
  return left == 1
end

-- ---- The gate: how many jobs may be claimed ----

-- Opens the gate: `room` says how many jobs may be claimed now, `taken` how many this script has
-- claimed.
function line.open_gate(meta)
  local gate = {room = CLAIMS, taken = 0, large = meta.large}
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
-- that was asked to come is late.
function line.first_moment(gate)
  local moment
  if gate.step and gate.room < 1 and redis.call('EXISTS', READY) == 1 then
    moment = math.ceil(gate.full_at + (gate.taken + 1) * gate.step - gate.period)
  end
  if gate.told_to_come then
    moment = math.min(moment or math.huge, now + FIRST_LEASE_MS)
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

-- The message to a waiter about a job: the job itself, or "come", which makes the waiter claim it.
-- "come" is for jobs that are large or have more to their start, and for a last attempt: the server
-- must know the worker before that attempt begins.
function line.offer(id, lease_ms, gate)
  if gate.large and redis.call('HSTRLEN', JOBS, id) > LARGE then
    return 'come'
  end
  local record, retries = jobs.record_of(id), RETRIES
  if jobs.has_options(record) then
    local job = jobs.read(record)
    if job.group > 0 or job.until_started then
      return 'come'
    end
    retries = job.retries
  end
  local history = redis.call('HGET', HISTORY, id) or ''
  if jobs.read_history(history).failures >= retries then
    return 'come'
  end
  return 'job', table.concat({id, decimal.whole(now), decimal.whole(lease_ms), #history,
                              history .. record}, ' ')
end

-- Offers the first ready job to the first waiter. False when there is nothing more to do.
function line.serve_first(waiting, gate)
  local waiter, arrival = unpack(redis.call('ZRANGE', WAITERS, 0, 0, 'WITHSCORES'))
  local id, score = unpack(waiter and redis.call('ZRANGE', READY, 0, 0, 'WITHSCORES') or {})
  if not id then
    return false
  end
  local token, lease, channel = line.read_waiter(waiter)
  line.leave(waiting, waiter)
  if not token then
    return true
  end
  -- A waiter that listens here gets the job, which is never taken back. Other waiters are asked to
  -- come: see "Waiting" in queue.c.
  local lease_ms, word, job = math.min(lease, FIRST_LEASE_MS), 'come', nil
  if line.is_heard(channel) then
    word, job = line.offer(id, lease_ms, gate)
  end
  if job then
    redis.call('ZADD', ACTIVE, jobs.unconfirmed_end(now + lease_ms), jobs.claim_of(id, token))
    redis.call('ZREM', READY, id)
  end
  -- Publish last: a waiter must not hear of something that is not stored.
  local heard = line.publish(channel, token .. ' ' .. word .. ' ' .. (job or ''))
  if job and heard then
    line.take_room(gate, 1)
  elseif job then
    redis.call('ZREM', ACTIVE, jobs.claim_of(id, token))
    redis.call('ZADD', READY, score, id)
  elseif heard and heard > 0 then
    gate.told_to_come = true
  end
  if not heard then -- the waiter stays first, and finds the job when it looks
    line.enter(waiting, waiter, arrival)
  end
  return heard == 0 or heard and job ~= nil
end

-- Hands ready jobs to the waiters, in order. A waiter that does not hear the message is gone, or
-- comes back. True when there may be more to hand over.
function line.serve(waiting, gate)
  for _ = 1, HAND_OVERS do
    if gate.room < 1 or waiting.count == 0 or not line.serve_first(waiting, gate) then
      return false
    end
  end
  return true
end

-- ---- Looking ----

-- The notes of the line: `look`, when a waiter looks; `looker`, which one; `told`, the moment
-- announced to all waiters; `called`, when they were called back to the line.
function line.read_notes()
  local look, told, called, looker =
      unpack(redis.call('HMGET', LINE, 'look', 'told', 'called', 'looker'))
  return {look = tonumber(look), told = tonumber(told), called = tonumber(called),
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
-- of another moment before; so moments that are close together need no second announcement. A
-- script that has looked itself says so, and which waiter looks next: then the others know that
-- nothing is late.
function line.announce(waiting, moment, token)
  local notes = waiting.notes
  if not notes.told or moment < notes.told or moment > notes.told + BACKUP_MS then
    local looked = waiting.has_looked and token
    local word = looked and 'looked ' or 'look '
    line.publish(LINE, word .. decimal.whole(moment - now) .. ' ' .. (looked or ''))
    line.write_notes('told', decimal.whole(moment))
  end
end

-- Tells all waiters that nothing is due, now or later.
function line.announce_rest(notes)
  if notes.told then
    line.publish(LINE, 'rest')
    redis.call('HDEL', LINE, 'told', 'look', 'looker')
  end
end

-- Notes and announces that a waiter has promised to look.
function line.promise(waiting, waiter, moment)
  line.write_notes('look', decimal.whole(moment), 'looker', waiter)
  line.announce(waiting, moment, (line.read_waiter(waiter)))
end

-- Asks a waiter to look at the moment, unless one has promised to. Asks the newest first, since
-- they will wait longest. A waiter that does not hear the message is gone.
function line.appoint(waiting, moment)
  local notes = waiting.notes
  if line.is_promised(notes, moment) then
    return
  end
  if notes.look and notes.look > now then
    moment = math.min(moment, notes.look)
  end
  local candidates = redis.call('ZRANGE', WAITERS, 0, CANDIDATES - 1, 'REV')
  for _, waiter in ipairs(candidates) do
    local token, _, channel = line.read_waiter(waiter)
    local heard = 0
    if token then
      heard = line.publish(channel, token .. ' look ' .. decimal.whole(moment - now)) or 0
    end
    if heard > 0 then
      return line.promise(waiting, waiter, moment)
    end
    if line.leave(waiting, waiter) and token then
      line.publish(channel, token .. ' come ') -- see line.serve_first()
    end
  end
  if candidates[1] then
    line.announce(waiting, moment)
  end
end

-- Calls waiters back to an empty line. Waiters that lost their places (FLUSHALL, eviction, a clock
-- that jumped) stand in line again. `token`: the waiter that is in line now, if any.
function line.call_back(notes, token)
  local lately = notes.called and math.abs(now - notes.called) < CALL_MS
  if not lately and (line.publish(LINE, 'stand ' .. token) or 0) > 0 then
    line.write_notes('called', decimal.whole(now))
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
    return line.call_back(waiting.notes, '')
  end
  local more = line.serve(waiting, gate)
  line.close_gate(gate)
  local moment = more and now or waiting.count > 0 and line.first_moment(gate)
  if moment then
    line.appoint(waiting, moment)
  end
end

-- Gives a place to a waiter that found no jobs. Returns in how many milliseconds it should look
-- (-1: no need), and 1 if another waiter looks then.
function line.stand(waiting, waiter, gate)
  local notes = waiting.notes
  local arrived = line.enter(waiting, waiter, decimal.whole(clock.us()))
  local alone = waiting.count == 1
  redis.call('PEXPIRE', WAITERS, LINE_MS)
  if arrived and alone then
    line.call_back(notes, (line.read_waiter(waiter)))
  end
  local moment = line.first_moment(gate)
  if not moment then
    line.announce_rest(notes)
    return -1, 0
  end
  local other = notes.looker ~= waiter and line.is_promised(notes, moment)
  if not other and alone then
    line.write_notes('look', decimal.whole(moment), 'looker', waiter)
    redis.call('HDEL', LINE, 'told')
  elseif not other then
    line.promise(waiting, waiter, moment)
  end
  return moment - now, other and 1 or 0
end
