-- Readers, and how far they have acknowledged.
-- include: keys
-- include: messages

local readers = {}

-- The id up to which a reader has acknowledged; nil when it is not a reader. The owner of a mailbox
-- is a reader from the beginning.
function readers.position_of(line, reader, is_owner)
  local score = redis.call('ZSCORE', READERS, reader) or is_owner == '1' and not line.exists and 0
  if not score then
    return nil
  end
  local position = messages.whole(score, 0)
  if position > line.last then
    messages.damaged()
  end
  return position
end

-- Removes the messages that every reader has acknowledged.
function readers.remove_acknowledged(line)
  messages.remove_before(line, messages.lowest_position() + 1)
end
