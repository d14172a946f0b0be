-- Long lists, in parts that fit on Lua's stack.

local PART = 4000

-- Calls visit(first, last) for each part of a list of so many items, from the one at `from` on.
local function each_part(from, count, visit)
  for first = from, count, PART do
    visit(first, math.min(first + PART - 1, count))
  end
end
