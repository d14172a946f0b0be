-- hold/leave: a waiter gives up its place in the line; or learns that its turn had come.
-- KEYS[1] record   see hold/acquire
-- KEYS[2] holders
-- KEYS[3] queue
-- KEYS[4] cards
-- ARGV[1] token
-- ARGV[2] place    the waiter as it stands in the queue
-- returns {1}, or {0, fence, lease left} when it holds
-- include: clock
-- include: count

local record = redis.call('GET', KEYS[1])
-- include: record
-- include: save
-- include: holders
-- include: grant
-- include: looker
-- include: line
-- include: find

redis.call('LREM', KEYS[3], 1, ARGV[2])
forget_looker(ARGV[1])
sweep()
hand_over()
local till, card = find(ARGV[1])
if not till and waits ~= '-' then
  appoint(first_end() or now)
end
save()
if till then
  return {0, tonumber(string.sub(card, 1, 16)), till - now}
end
return failure or {1}
