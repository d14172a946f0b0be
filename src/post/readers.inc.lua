-- Readers and how far they have acknowledged.
-- include: keys
-- include: line

-- The id up to which a reader has acknowledged; nil for a stranger. The owner of a mailbox is a
-- reader from the beginning.
local function position_of(line, reader, is_owner)
  local score = redis.call('ZSCORE', READERS, reader) or is_owner == '1' and not line.exists and 0
  if not score then
    return nil
  end
  local position = whole(score, 0)
  if position > line.last then
    damaged()
  end
  return position
end

-- Removes what every reader has acknowledged.
local function remove_acknowledged(line)
  remove_before(line, lowest_position() + 1)
end
