-- Claims `ids`, which are the first of what is ready; unless some stepped aside, or came back
-- meanwhile.

if ids[1] then
  local till, leases = string.format('%d', now + ARGV[2]), {}
  for i, id in ipairs(ids) do
    leases[2 * i - 1], leases[2 * i] = till, id .. ARGV[1]
  end
  if starts then
    redis.call('ZREM', KEYS[3], unpack(ids))
  else
    redis.call('ZREMRANGEBYRANK', KEYS[3], 0, #ids - 1)
  end
  redis.call('ZADD', KEYS[5], unpack(leases))
  room, taken, soonest = room - #ids, #ids, now + ARGV[2]
  if waits then
    redis.call('ZREM', KEYS[7], me)
  end
end
