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
-- include: looker
-- include: line
-- include: find

redis.call('ZREM', KEYS[3], ARGV[2])
looker = string.sub(looker, 1, 32) ~= ARGV[1] and looker or '-'
sweep()
hand_over()
local till, card = find(ARGV[1])
if not till and arrivals ~= NONE then
  appoint(first_end() or now)
end
save()
if till then
  return {0, tonumber(string.sub(card, 1, 16)), till - now}
end
return failure or {1}
