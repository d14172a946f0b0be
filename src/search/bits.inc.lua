-- Numbers of documents, as texts and as bits of a bitmap.

local BYTE_BITS = 8

local function text_of(number)
  return string.format('%.0f', number)
end

-- The byte of a bitmap that has the bit of a number.
local function byte_of(number)
  return (number - number % BYTE_BITS) / BYTE_BITS
end
