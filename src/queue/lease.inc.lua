-- Claims `ids`, which are the first of what is ready; unless some stepped aside, or came back
-- meanwhile.

if ids[1] then
  local till, token, leases, k = string.format('%d', now + ARGV[2]), ARGV[1], {}, 1
  for i = #ids, 1, -1 do -- the last first: a short zset is a list, which is searched from the front
    leases[k], leases[k + 1], k = till, ids[i] .. token, k + 2
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
