-- Parts of long lists, which fit on Lua's stack.

local parts = {}

local PART = 4000 -- items of a part

-- Calls visit(first, last) for each part of a list with `count` items, beginning at the item
-- `from`.
function parts.each(from, count, visit)
  for first = from, count, PART do
    visit(first, math.min(first + PART - 1, count))
  end
end
