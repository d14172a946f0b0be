-- Messages that are too old count as removed.
-- include: line

-- The first message that is not too old.
local function first_young(line)
  if line.max_age == math.huge then
    return line.first
  end
  return first_fitting(line, function(time)
    return time > now - line.max_age
  end)
end
