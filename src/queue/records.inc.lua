-- The `records` and `extras` of `ids`.

if ids[1] then
  records = redis.call('HMGET', KEYS[2], unpack(ids))
  if redis.call('EXISTS', KEYS[6]) == 1 then
    extras = redis.call('HMGET', KEYS[6], unpack(ids))
  end
end
