-- Pieces: the fields of a hash that have the rest of a long text, or the terms of a long text.
-- include: keys

local pieces = {}

-- The field of a piece; the pieces of a number count from 1.
function pieces.field(number, piece)
  return number .. ':' .. piece
end

-- Removes a number with its pieces from a hash. They have no gap.
function pieces.erase(key, number)
  redis.call('HDEL', key, number)
  local piece = 1
  while redis.call('HDEL', key, pieces.field(number, piece)) == 1 do
    piece = piece + 1
  end
end
