-- The line of waiters: see "Waiting" and "Looking" in queue.c.
-- include: shared/clock
-- include: jobs

local CLAIMS = 1000           -- at most, in one script
local HAND_OVERS = 100        -- ditto
local CANDIDATES = 8          -- for the waiter that looks
local LINE_MS = 86400000      -- the line expires when nobody has stood in it for so long
local CALL_MS = 1000          -- waiters are called back to the line at most so often
local BACKUP_MS = 500         -- news that come within this time need not be announced
local LOOK_MS = 10000         -- a waiter looks at least this often while something is delayed or
                              -- leased: the server's clock may jump

-- A waiter is "token lease channel".
local function waiter_of(token, lease, channel)
  return token .. ' ' .. lease .. ' ' .. channel
end

local function read_waiter(waiter)
  return string.match(waiter, '^(%S+) (%d+) (.*)$')
end

-- How many heard it; nil when this user may not publish there.
local function tell(channel, message)
  local heard = redis.pcall('SPUBLISH', channel, message)
  return type(heard) == 'number' and heard or nil
end

-- ---- Places ----

-- True when the waiter did not stand there already.
local function enter_line(waiting, waiter, arrival)
  local entered = redis.call('ZADD', WAITERS, 'NX', arrival, waiter)
  waiting.count = waiting.count + entered
  return entered == 1
end

-- True when the waiter stood there.
local function leave_line(waiting, waiter)
  local left = redis.call('ZREM', WAITERS, waiter)
  waiting.count = waiting.count - left
  return left == 1
end

-- ---- How many may be claimed ----

-- gate.room: how many jobs may be claimed now.
local function open_gate(meta)
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

local function take_room(gate, count)
  gate.room, gate.taken = gate.room - count, gate.taken + count
end

-- What was claimed uses up the rate.
local function close_gate(gate)
  if gate.step and gate.taken > 0 then
    redis.call('HSET', META, 'full_at',
               string.format('%.3f', gate.full_at + gate.taken * gate.step))
  end
end

-- The first moment at which something is due, a lease ends, or the rate allows the next claim.
local function first_moment(gate)
  local moment
  if gate.step and gate.room < 1 and redis.call('EXISTS', READY) == 1 then
    moment = math.ceil(gate.full_at + (gate.taken + 1) * gate.step - gate.period)
  end
  for _, key in ipairs({DELAYED, ACTIVE}) do
    local first = tonumber(redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2])
    if first then
      moment = math.min(moment or first, first)
    end
  end
  return moment and math.max(now, math.min(moment, now + LOOK_MS))
end

-- ---- Handing jobs over ----

-- What a waiter is told of a job: the job itself, or to come and claim it when it is large, or when
-- there is more to its start.
local function offer(id, lease_end, gate)
  if gate.large and redis.call('HSTRLEN', JOBS, id) > LARGE then
    return 'come'
  end
  local record = record_of(id)
  if has_options(record) then
    local job = read(record)
    if job.group > 0 or job.until_started then
      return 'come'
    end
  end
  local history = redis.call('HGET', HISTORY, id) or ''
  return 'job', id .. ' ' .. lease_end .. ' ' .. #history .. ' ' .. history .. record
end

-- Offers the first ready job to the first waiter. False when there is nothing more to do.
local function serve_first(waiting, gate)
  local waiter, arrival = unpack(redis.call('ZRANGE', WAITERS, 0, 0, 'WITHSCORES'))
  local id, score = unpack(waiter and redis.call('ZRANGE', READY, 0, 0, 'WITHSCORES') or {})
  if not id then
    return false
  end
  local token, lease, channel = read_waiter(waiter)
  leave_line(waiting, waiter)
  if not token then
    return true
  end
  local lease_end = text(now + lease)
  local word, job = offer(id, lease_end, gate)
  if job then
    redis.call('ZADD', ACTIVE, lease_end, claim_of(id, token))
    redis.call('ZREM', READY, id)
  end
  -- Told last: on a server that refuses writes nobody must hear of what was not written down.
  local heard = tell(channel, token .. ' ' .. word .. ' ' .. (job or ''))
  if job and heard and heard > 0 then
    take_room(gate, 1)
  elseif job then
    redis.call('ZREM', ACTIVE, claim_of(id, token))
    redis.call('ZADD', READY, score, id)
  end
  if not heard then -- it stays the first, and finds the job when it looks
    enter_line(waiting, waiter, arrival)
  end
  return heard == 0 or heard and job ~= nil
end

-- Hands what is ready to the waiters, in order. A waiter that does not hear is gone. True when there
-- may be more to hand over.
local function serve(waiting, gate)
  for _ = 1, HAND_OVERS do
    if gate.room < 1 or waiting.count == 0 or not serve_first(waiting, gate) then
      return false
    end
  end
  return true
end

-- ---- Looking ----

-- What the waiters know: look, when one of them looks; looker, which; told, the moment that all have
-- heard of; called, when they were called back to the line.
local function read_line()
  local look, told, called, looker =
      unpack(redis.call('HMGET', LINE, 'look', 'told', 'called', 'looker'))
  return {look = tonumber(look), told = tonumber(told), called = tonumber(called),
          looker = looker or ''}
end

local function write_line(...)
  redis.call('HSET', LINE, ...)
  redis.call('PEXPIRE', LINE, LINE_MS)
end

-- Whether a waiter that is in line has promised to look at that moment, or before.
local function is_promised(line, moment)
  return line.look and line.look > now and line.look <= moment and
         redis.call('ZSCORE', WAITERS, line.looker)
end

-- All waiters hear when one of them looks. They look themselves a little later, unless they hear of
-- another moment before: so they need not hear of moments that are close together. A script that has
-- looked itself says so, and which waiter looks next: then the others can rely on nothing being late.
local function announce(waiting, moment, token)
  local line = waiting.line
  if not line.told or moment < line.told or moment > line.told + BACKUP_MS then
    local looked = waiting.has_looked and token
    tell(LINE, (looked and 'looked ' or 'look ') .. text(moment - now) .. ' ' .. (looked or ''))
    write_line('told', text(moment))
  end
end

-- Nothing is due, now or later.
local function announce_rest(line)
  if line.told then
    tell(LINE, 'rest')
    redis.call('HDEL', LINE, 'told', 'look', 'looker')
  end
end

-- A waiter promises to look.
local function promise(waiting, waiter, moment)
  write_line('look', text(moment), 'looker', waiter)
  announce(waiting, moment, (read_waiter(waiter)))
end

-- Asks a waiter to look at the moment, unless one has promised to. The newest are asked first, since
-- they will wait longest; a waiter that does not hear is gone.
local function appoint(waiting, moment)
  local line = waiting.line
  if is_promised(line, moment) then
    return
  end
  if line.look and line.look > now then
    moment = math.min(moment, line.look)
  end
  local candidates = redis.call('ZRANGE', WAITERS, 0, CANDIDATES - 1, 'REV')
  for _, waiter in ipairs(candidates) do
    local token, _, channel = read_waiter(waiter)
    local heard = token and tell(channel, token .. ' look ' .. text(moment - now)) or 0
    if heard > 0 then
      return promise(waiting, waiter, moment)
    end
    leave_line(waiting, waiter)
  end
  if candidates[1] then
    announce(waiting, moment)
  end
end

-- The line is empty. Waiters that lost their places (FLUSHALL, eviction, a clock that jumped) hear
-- it and stand in line again. `token`: of the one that stands there now, if any.
local function call_back(line, token)
  local lately = line.called and math.abs(now - line.called) < CALL_MS
  if not lately and (tell(LINE, 'stand ' .. token) or 0) > 0 then
    write_line('called', text(now))
  end
end

-- ---- Around a change ----

-- Before a change: all keys are as they should be. Returns how many stand in line, whether nobody
-- did when the script began, and what the waiters know. A claim adds has_looked: it has seen to
-- everything that was due.
local function check_waiting()
  check_keys()
  local count = redis.call('ZCARD', WAITERS)
  return {count = count, was_empty = count == 0, line = read_line()}
end

-- After a change: what is ready goes to the waiters, and one of them looks when it is time to.
local function wake(waiting, gate)
  if waiting.was_empty then
    return call_back(waiting.line, '')
  end
  local more = serve(waiting, gate)
  close_gate(gate)
  local moment = more and now or waiting.count > 0 and first_moment(gate)
  if moment then
    appoint(waiting, moment)
  end
end

-- A place in line for a waiter that found nothing. Returns in how many milliseconds it should look
-- (-1: no need), and whether another waiter looks then.
local function stand(waiting, waiter, gate)
  local line = waiting.line
  local arrived = enter_line(waiting, waiter, text(clock_us()))
  local alone = waiting.count == 1
  redis.call('PEXPIRE', WAITERS, LINE_MS)
  if arrived and alone then
    call_back(line, (read_waiter(waiter)))
  end
  local moment = first_moment(gate)
  if not moment then
    announce_rest(line)
    return -1, 0
  end
  local other = line.looker ~= waiter and is_promised(line, moment)
  if not other and alone then
    write_line('look', text(moment), 'looker', waiter)
    redis.call('HDEL', LINE, 'told')
  elseif not other then
    promise(waiting, waiter, moment)
  end
  return moment - now, other and 1 or 0
end
