-- Pieces: the fields of a hash that have the rest of a long text, or of the terms of one.
-- include: keys

local pieces = {}

-- The field of a piece, from 1.
function pieces.field(number, place)
  return number .. ':' .. place
end

-- Removes a number with its pieces from a hash. They have no gap.
function pieces.erase(key, number)
  redis.call('HDEL', key, number)
  local place = 1
  while redis.call('HDEL', key, pieces.field(number, place)) == 1 do
    place = place + 1
  end
end
