-- The history: messages that are kept although every member has acknowledged them: a number of last
-- messages, young messages, or messages that are both.
-- include: keys
-- include: messages

local history = {}

-- Returns the first message of the history; the id behind the last one when there is none.
function history.first(mailbag)
  if mailbag.history == math.huge and mailbag.history_age == math.huge then
    return mailbag.last + 1
  end
  local first = math.max(mailbag.first, mailbag.last - mailbag.history + 1)
  if mailbag.history_age < math.huge then
    first = math.max(first, messages.first_fitting(mailbag, function(time)
      return time > now - mailbag.history_age
    end))
  end
  return first
end

-- Makes the messages expire when the last one is too old for the history, also when nothing is sent
-- any more. For mailbags in which no reader has unread messages.
function history.expire_all(mailbag)
  if mailbag.history_age < math.huge then
    redis.call('PEXPIREAT', MESSAGES, now + mailbag.history_age, 'LT')
    redis.call('PEXPIREAT', MARKS, now + mailbag.history_age, 'LT')
  end
end

-- Keeps the messages from expiring by the history: there are unread ones again.
function history.stay(mailbag)
  if mailbag.history_age < math.huge then
    redis.call('PERSIST', MESSAGES)
    redis.call('PERSIST', MARKS)
  end
end
