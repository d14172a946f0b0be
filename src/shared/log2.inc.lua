-- Logarithms to the base 2, for weights that halve with time.

local log2 = {}

function log2.of(number)
  return math.log(number) / math.log(2)
end

-- log2(2^a + 2^b), without overflow.
function log2.sum(a, b)
  local more, less = math.max(a, b), math.min(a, b)
  return more + log2.of(1 + 2 ^ (less - more))
end
