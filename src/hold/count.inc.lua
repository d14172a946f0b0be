-- Numbers and texts.

local now = tonumber(stamp)

-- How long fences are remembered after the last lease, in milliseconds.
local LINGER = 60000
-- How long the line is, after the last came to it.
local QUEUE_MS = 900000

local function text(number)
  return string.format('%d', number)
end

-- A moment in sixteen digits, so that its parts have their places in longer texts.
local function moment(number)
  return string.format('%016d', number)
end

-- The next fence: ahead of the last, even where the clock was set back. Sixteen digits compare as
-- numbers do.
local function next_fence(last)
  if last and last >= stamp then
    return moment(last + 1)
  end
  return stamp
end
