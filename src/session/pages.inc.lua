-- Pages of a sorted set, the highest score first. A step ends early when its members are long.
-- include: shared/decimal

local pages = {}

-- A step ends after about this many bytes of members; a command reads this many members.
local STEP_BYTES, STEP_MEMBERS = 262144, 50

-- Calls add(member, score) for the members from one rank to another, until the step is full.
-- Returns 1 when members of the page are left.
function pages.visit(set, first, last, add)
  local bytes = 0
  for from = first, last, STEP_MEMBERS do
    local to = math.min(last, from + STEP_MEMBERS - 1)
    local found = redis.call('ZRANGE', set, decimal.whole(from), decimal.whole(to), 'REV',
                             'WITHSCORES')
    for i = 1, #found, 2 do
      add(found[i], found[i + 1])
      bytes = bytes + #found[i]
    end
    if #found < 2 * STEP_MEMBERS then
      return 0
    elseif bytes >= STEP_BYTES then
      return to < last and 1 or 0
    end
  end
  return 0
end
