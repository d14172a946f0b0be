-- Numbers and texts.

local now = tonumber(stamp)
local now_ms = math.ceil(now / 1000)

-- How long fences are remembered after the last lease, in milliseconds.
local LINGER = 60000
-- How much one script does.
local AT_MOST = 100

-- A moment in sixteen digits, so that the parts of longer texts have their places.
local function moment(number)
  return string.format('%016d', number)
end
