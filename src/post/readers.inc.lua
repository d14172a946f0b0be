-- Readers, and how far they have acknowledged.
-- include: keys
-- include: messages
-- include: ages
-- include: own
-- include: history

local readers = {}

-- Returns the id up to which a reader has acknowledged; nil when it is not a reader. The owner of a
-- mailbox is a reader from the beginning.
function readers.position_of(mailbag, reader, is_owner)
  local score = redis.call('ZSCORE', READERS, reader) or
                is_owner == '1' and not mailbag.exists and 0
  if not score then
    return nil
  end
  local position = messages.whole(score, 0)
  if position > mailbag.last then
    messages.damaged()
  end
  return position
end

-- Returns the first kept message behind a position that is not the reader's own, and how many
-- messages from there on are not its own.
function readers.unread_behind(mailbag, reader, position)
  local from = math.max(position + 1, ages.first_young(mailbag))
  from = own.next_other(mailbag, reader, from)
  return from, mailbag.last - from + 1 - own.count(reader, from, mailbag.last)
end

-- Returns the first message to keep: some reader has not acknowledged it, or it is in the history.
function readers.first_kept(mailbag)
  return math.min(messages.lowest_position() + 1, history.first(mailbag))
end

-- Removes the messages that every reader has acknowledged and that are not in the history.
function readers.remove_acknowledged(mailbag)
  messages.remove_before(mailbag, readers.first_kept(mailbag))
  if messages.lowest_position() == mailbag.last then
    history.expire_all(mailbag)
  end
end
