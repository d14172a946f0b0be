-- hold/break: take it away from all who hold it, and hand it to the next.
-- KEYS[1] record   see hold/acquire
-- KEYS[2] holders
-- KEYS[3] queue
-- KEYS[4] cards
-- ARGV[1] most     holders to forget in one go
-- returns how many held it
-- include: clock
-- include: count

local record = redis.call('GET', KEYS[1])
-- include: record
-- include: save
-- include: holders
-- include: grant
-- include: looker
-- include: line

sweep()
local held = x and {string.sub(x, 18, 49)} or redis.call('ZRANGE', KEYS[2], 0, ARGV[1] - 1)
redis.call('PEXPIRE', KEYS[1], 1, 'GT') -- changes nothing, but lets a full server take what follows
for _, token in ipairs(held) do
  drop(token)
end
hand_over()
if waits == '-' then
  -- include: settle
end
save()
return failure or #held
