-- The ages of messages. Messages that are too old count as removed.
-- include: messages

local ages = {}

-- Returns the first message that is not too old.
function ages.first_young(mailbag)
  if mailbag.max_age == math.huge then
    return mailbag.first
  end
  return messages.first_fitting(mailbag, function(time)
    return time > now - mailbag.max_age
  end)
end
