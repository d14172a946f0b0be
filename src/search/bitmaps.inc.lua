-- Bitmaps of the numbers of documents.

local bitmaps = {}

local BYTE_BITS = 8

-- The index of the byte that holds the bit of a number.
function bitmaps.byte_of(number)
  return (number - number % BYTE_BITS) / BYTE_BITS
end
