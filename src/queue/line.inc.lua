-- A place in the line, and when to look: at `till`, if there is one.

redis.call('ZADD', KEYS[7], 'NX', time[1] .. string.format('%06d', time[2]), me)
redis.call('PEXPIRE', KEYS[7], 900000)
if till then
  look_in = math.max(till - now, 0)
  local look, looker = tonumber(rules[7] or 0), rules[8]
  if look <= now or look > till or looker == me or not redis.call('ZSCORE', KEYS[7], looker) then
    redis.call('HSET', KEYS[1], 'look', string.format('%d', till), 'looker', me)
  else
    rank = redis.call('ZCARD', KEYS[7])
  end
end
