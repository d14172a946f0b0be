-- Receivers among the arguments.

-- Those from ARGV[first] to ARGV[last], each behind its score: one ZADD is far quicker than many.
local function places(score, first, last)
  local words = {}
  for i = first, last do
    words[#words + 1] = score
    words[#words + 1] = ARGV[i]
  end
  return words
end
