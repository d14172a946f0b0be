-- Waiters in a line, for locks, semaphores and queues: messages to them, and whether they listen. A
-- waiter is a table with its token and the channel of its client. The essay of hold.c explains
-- handing over, looking and recalling.
--
-- Messages to one waiter, on the channel of its client: "TOKEN grant ..." or "TOKEN job ...", the
-- hand-over; "TOKEN look TIME", the request to look; "TOKEN recall", the request to ask again. A
-- message to all waiters has no token and no space in front.
-- include: shared/decimal

local waiters = {}

-- Publishes a message. Returns how many clients heard it; nil and the error when this user may not
-- publish there. Call it after the write: a waiter must not hear of something that is not stored.
function waiters.publish(channel, message)
  local heard = redis.pcall('SPUBLISH', channel, message)
  if type(heard) == 'number' then
    return heard
  end
  return nil, heard
end

-- Whether the waiter's client listens at this server. If so, it hears a hand-over, which is never
-- taken back. Nil and the error when this user may not ask.
function waiters.is_here(waiter)
  local listeners = redis.pcall('PUBSUB', 'SHARDNUMSUB', waiter.channel)
  if listeners.err then
    return nil, listeners
  end
  return listeners[2] > 0
end

-- Tells one waiter something. Returns what waiters.publish() returns.
function waiters.tell(waiter, message)
  return waiters.publish(waiter.channel, waiter.token .. ' ' .. message)
end

-- Asks a waiter to look in that time, in the unit of the component.
function waiters.ask_to_look(waiter, time)
  return waiters.tell(waiter, 'look ' .. decimal.whole(time))
end

-- Recalls a waiter that has lost its place, or has to ask again. A waiter that does not listen here
-- is mostly gone. But it may listen at another server, which was the master until a moment ago and
-- passes on what is published here: then it hears this.
function waiters.recall(waiter)
  return waiters.tell(waiter, 'recall')
end

-- Recalls all waiters after the server lost the line, except the waiter with that token, if any.
-- Returns how many clients heard it.
function waiters.recall_all(channel, token)
  return waiters.publish(channel, 'recall ' .. (token or '')) or 0
end
