-- hold/break: take it away from all who hold it, and hand it to the next.
-- KEYS[1] record   see hold/acquire
-- KEYS[2] holders
-- KEYS[3] queue
-- ARGV[1] most     holders to forget in one go
-- returns how many held it
-- include: clock
-- include: count
-- include: holders
-- include: looker
-- include: line

local waiting = redis.call('ZCARD', KEYS[3])
sweep()
local held = redis.call('ZRANGE', KEYS[2], 0, ARGV[1] - 1)
held[#held + 1] = x and string.sub(x, 18, 49) or nil
for _, token in ipairs(held) do
  drop(token)
end
if waiting > 0 then
  hand_over()
elseif #held > 0 then
  -- include: settle
end
save()
return failure or #held
