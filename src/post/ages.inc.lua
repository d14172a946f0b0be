-- The ages of messages. Messages that are too old count as removed.
-- include: messages

local ages = {}

-- The first message that is not too old.
function ages.first_young(line)
  if line.max_age == math.huge then
    return line.first
  end
  return messages.first_fitting(line, function(time)
    return time > now - line.max_age
  end)
end
