-- Numbers as text, in decimal digits.

local decimal = {}

-- Whole numbers up to here are exact in Lua's numbers, which are doubles. So are math.floor(a / b)
-- and math.ceil(a / b) of them: a quotient that is not whole is at least 1 / b away from a whole
-- number, and its error is smaller than that.
local EXACT = 2 ^ 53

-- The text of a whole number, without an exponent.
function decimal.whole(number)
  return string.format('%d', number)
end

-- The text of any number, from which the same number is read again. Minus zero becomes zero.
function decimal.exact(number)
  return string.format('%.17g', number + 0)
end

-- The number in a text of digits; nil for anything else, and when it would not be exact.
function decimal.read(text)
  local number = text and string.match(text, '^%d+$') and tonumber(text)
  return number and number < EXACT and number or nil
end

-- The whole number in a text, from `least` to EXACT; nil for anything else.
function decimal.read_from(text, least)
  local number = tonumber(text)
  local fits = number and number >= least and number <= EXACT and number % 1 == 0
  return fits and number or nil
end
