-- Records as scripts read them.

-- The line of a record, its unique key and its group; '' for what it has not.
local function read(record)
  local line = string.match(record, '^[^\n]*')
  local u = tonumber(string.match(line, ' u(%d+)') or 0)
  local g = tonumber(string.match(line, ' g(%d+)') or 0)
  local at = #line + 2
  return line, string.sub(record, at, at + u - 1), string.sub(record, at + u, at + u + g - 1)
end

-- The score of a job as pushed, by the line of its record.
local function as_pushed(line)
  local priority = string.match(line, ' p(%-?%d+)') or 0
  return string.format('%.0f', (priority * 4 + 2) * 2 ^ 40)
end

-- A parked job as it stands in :y. The length keeps a group apart from others that begin like it.
local function parking_spot(group, line, id)
  local priority = string.match(line, ' p(%-?%d+)') or 0
  return string.format('%04d', #group) .. group .. string.format('%04d', priority + 1000) .. id
end
