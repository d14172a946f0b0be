-- hold/leave: a waiter gives up its place in the line; or learns that its turn had come.
-- KEYS[1] record   see hold/acquire
-- KEYS[2] holders
-- KEYS[3] queue
-- ARGV[1] token
-- ARGV[2] place    the waiter as it stands in the queue
-- returns {1}, or {0, fence, lease left, now} when it holds
-- include: clock
-- include: count
-- include: holders
-- include: looker
-- include: line
-- include: find

redis.call('ZREM', KEYS[3], ARGV[2])
sweep()
hand_over()
local till, card = find(ARGV[1])
if till then
  save()
  return {0, tonumber(string.sub(card, 1, 16)), till - now, now}
end
appoint(first_end() or now)
save()
return failure or {1}
