-- Jobs that were done: `n` of them in ARGV from 7 on, then as many lengths of records, with an "r" before
-- them when the job is rich. `finished` are those whose claims are valid, and `rich` those of them that
-- are; the places of the others go into `stale`.

local held = redis.call('ZMSCORE', KEYS[5], unpack(ARGV, 7, n + 6))
local finished, rich, bytes = {}, {}, 0
for i = 1, n do
  local length = ARGV[i + n + 6]
  if held[i] then
    finished[#finished + 1] = string.sub(ARGV[i + 6], 1, 13)
    if string.byte(length) == 114 then
      rich[#rich + 1] = finished[#finished]
      length = string.sub(length, 2)
    end
    bytes = bytes + length
  else
    stale[#stale + 1] = i
  end
end
